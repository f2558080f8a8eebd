/* Each allocation fails once: nothing crashes, nothing leaks, and the failure is reported. The linker sends
 * the allocator's callers here: link with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free. */
#ifndef TESTS_TORTURE_H
#define TESTS_TORTURE_H

#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void __wrap_free(void *ptr);

static long torture_until = -1; /* this many allocations succeed, then one fails; negative: none does */
static bool torture_failed;
static long torture_live; /* pieces that are not given back */
static long torture_made; /* allocations that succeeded */

static bool torture_now(void)
{
    if (torture_until != 0) {
        torture_until -= torture_until > 0;
        torture_made++;
        return false;
    }
    torture_until = -1;
    torture_failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    void *ptr = torture_now() ? NULL : __real_malloc(size);
    torture_live += ptr != NULL;
    return ptr;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *ptr = torture_now() ? NULL : __real_calloc(count, size);
    torture_live += ptr != NULL;
    return ptr;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *ptr = torture_now() ? NULL : __real_realloc(old, size);
    torture_live += ptr != NULL && old == NULL;
    return ptr;
}

void __wrap_free(void *ptr)
{
    torture_live -= ptr != NULL;
    __real_free(ptr);
}

/* Runs `work` with the first allocation failing, then the second, until it runs through without a failure.
 * `work` returns whether it was told of no failure, and gives back all that it took. */
static inline void torture(const char *name, bool (*work)(void))
{
    long before = torture_live;
    for (long i = 0;; i++) {
        torture_until = i;
        torture_failed = false;
        bool ok = work();
        bool through = !torture_failed;
        torture_until = -1;
        if (ok != through || torture_live != before) {
            printf("%s: allocation %ld: ok %d, %ld pieces left\n", name, i, ok, torture_live - before);
        }
        CHECK(ok == through);
        CHECK(torture_live == before);
        if (through) {
            CHECK(i > 0);
            return;
        }
    }
}

#endif
