/* Every allocation of opening a gate fails once: no gate, a message that says so, and no descriptor that is not the
 * gate's is closed. The linker hands malloc and its kin to the functions here (see meson.build). */
#include <fcntl.h>

#include "tests/unit/gate/support.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

static bool armed;
static unsigned long seen, fails_at;

static bool fails(void)
{
    return armed && seen++ == fails_at;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    return fails() ? NULL : __real_realloc(ptr, size);
}

/* More rounds than allocations: the last one runs through. */
#define MOST_ROUNDS 5000ul

int main(void)
{
    struct bench b;
    unsigned long refused = 0;
    bench_open(&b, "[{\"id\":\"no\",\"effect\":\"deny\",\"match\":{\"tool\":\"rm\"},\"reason\":\"r\"}]");
    gate_close(b.gate);
    b.gate = NULL;
    bool failed = true;
    for (fails_at = 0; failed && fails_at < MOST_ROUNDS; fails_at++) {
        struct buf error;
        gate_close(b.gate);
        buf_init(&error, 4096);
        buf_text(&error, "-"); /* the message has its memory before anything fails */
        seen = 0;
        armed = true;
        b.gate = gate_open(&b.options, &error);
        armed = false;
        failed = seen > fails_at;
        refused += b.gate == NULL;
        CHECK(b.gate != NULL || error.len > 1 || !buf_ok(&error));
        CHECK(fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0);
        buf_finish(&error);
    }
    CHECK(!failed && b.gate != NULL && refused > 10);
    bench_close(&b);
    return check_done();
}
