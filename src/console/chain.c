/* Whether the journal's chain holds: verified beside the loop, because it reads all of it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "console/internal.h"
#include "gate/state.h"
#include "journal/reader.h"

/* One verification, shared by everybody who looks. The work is the thread's between start and done. */
static struct {
    uv_work_t work;
    struct console *console;
    bool runs, known, ok;
    uint64_t version; /* of the record when it began */
    int64_t at_ms;
    struct journal_report report;
    char reason[160], file[256], why[512];
} chain;

static void verify(uv_work_t *work)
{
    struct journal_parts parts;
    struct buf error;
    (void)work;
    buf_init_message(&error, MESSAGE_BYTES);
    chain.ok = false;
    chain.why[0] = chain.reason[0] = chain.file[0] = '\0';
    if (journal_parts_find(chain.console->options.state_dir, STATE_JOURNAL, &parts, &error)) {
        chain.ok = journal_verify(parts.files, parts.count, (struct slice){0}, &chain.report, &error);
        if (chain.ok && chain.report.fault.reason != NULL) { /* the names go with the list */
            snprintf(chain.reason, sizeof(chain.reason), "%s", chain.report.fault.reason);
            snprintf(chain.file, sizeof(chain.file), "%.*s", SLICE_FMT(chain.report.fault.file));
        }
        journal_parts_finish(&parts);
    }
    if (!chain.ok) {
        snprintf(chain.why, sizeof(chain.why), "%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
}

static void verified(uv_work_t *work, int status)
{
    (void)work;
    chain.runs = false;
    chain.known = status == 0;
    chain.at_ms = clock_wall_ms();
    streams_tell(chain.console, "chain", chain.version);
}

void chain_stop(void)
{
    while (chain.runs && uv_run(&chain.console->loop, UV_RUN_ONCE) != 0) {
    }
}

void answer_chain(struct exchange *x)
{
    bool again = !chain.known ||
                 (slice_is(exchange_query(x, "again"), "1") && chain.version != x->console->record_version);
    if (!chain.runs && again) {
        chain.console = x->console;
        chain.version = x->console->record_version;
        chain.runs = uv_queue_work(&x->console->loop, &chain.work, verify, verified) == 0;
    }
    if (chain.runs || !chain.known) {
        buf_text(&x->out, "{\"state\":\"looking\"}");
        return;
    }
    const struct journal_report *report = &chain.report;
    buf_printf(&x->out, "{\"state\":\"%s\",\"at\":%lld",
               !chain.ok                 ? "unreadable"
               : chain.reason[0] != '\0' ? "broken"
                                         : "holds",
               (long long)chain.at_ms);
    if (chain.ok) {
        buf_printf(&x->out, ",\"events\":%llu,\"last\":%llu,\"hash\":\"%s\"",
                   (unsigned long long)report->events, (unsigned long long)report->last_seq,
                   report->last_hash);
    }
    if (chain.reason[0] != '\0') {
        buf_printf(&x->out, ",\"line\":%llu", (unsigned long long)report->fault.line);
        write_named(&x->out, "file", slice_of(chain.file));
        write_named(&x->out, "reason", slice_of(chain.reason));
    }
    if (!chain.ok) {
        write_named(&x->out, "why", slice_of(chain.why));
    }
    buf_byte(&x->out, '}');
}
