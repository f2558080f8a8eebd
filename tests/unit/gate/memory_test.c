/* Every allocation of opening a gate fails once: no gate, a message that says so, and no descriptor that is not the
 * gate's is closed. What libraries take and give back passes torture.h by, so pieces are not counted here. */
#include <fcntl.h>

#include "tests/torture.h"
#include "tests/unit/gate/support.h"

/* More rounds than allocations: the last one runs through. */
#define MOST_ROUNDS 5000

int main(void)
{
    struct bench b;
    unsigned long refused = 0;
    bench_open(&b, "[{\"id\":\"no\",\"effect\":\"deny\",\"match\":{\"tool\":\"rm\"},\"reason\":\"r\"}]");
    torture_failed = true;
    for (long round = 0; torture_failed && round < MOST_ROUNDS; round++) {
        struct buf error;
        gate_close(b.gate);
        buf_init(&error, 4096);
        buf_text(&error, "-"); /* the message has its memory before anything fails */
        torture_failed = false;
        torture_until = round;
        b.gate = gate_open(&b.options, &error);
        torture_until = -1;
        refused += b.gate == NULL;
        CHECK(b.gate != NULL || error.len > 1 || !buf_ok(&error));
        CHECK(fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0);
        buf_finish(&error);
    }
    CHECK(!torture_failed && b.gate != NULL && refused > 10);
    bench_close(&b);
    return check_done();
}
