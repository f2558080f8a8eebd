/* The gates that run, their policies, refused reloads. */
#include "base/clock.h"
#include "console/internal.h"

void answer_gates(struct exchange *x)
{
    struct buf error;
    struct journal_place missing = {0};
    buf_init_message(&error, MESSAGE_BYTES);
    buf_printf(&x->out, "{\"now\":%lld,\"gates\":", (long long)clock_wall_ms());
    if (gates_write_json(x->console->options.state_dir, &x->out, &error) &&
        gate_find_gap(x->console->options.state_dir, &missing, &error)) {
        buf_printf(&x->out, ",\"gap\":%llu}", (unsigned long long)missing.seq);
    } else {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "gates");
    }
    buf_finish(&error);
}
