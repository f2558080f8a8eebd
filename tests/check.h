/* The whole test framework: CHECK counts, check_done prints the line that runners read.
 *
 * A failed check prints its place and goes on, so that one run shows every fault. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

static int check_passed, check_failed;

#define CHECK(cond)                                                                                          \
    do {                                                                                                     \
        if (cond) {                                                                                          \
            check_passed++;                                                                                  \
        } else {                                                                                             \
            check_failed++;                                                                                  \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                                        \
        }                                                                                                    \
    } while (0)

/* Compares two byte strings and shows both when they differ. */
#define CHECK_BYTES(got, got_len, want)                                                                      \
    do {                                                                                                     \
        size_t want_len_ = strlen(want);                                                                     \
        if ((got_len) == want_len_ && (want_len_ == 0 || memcmp((got), (want), want_len_) == 0)) {           \
            check_passed++;                                                                                  \
        } else {                                                                                             \
            check_failed++;                                                                                  \
            printf("%s:%d: want %s\n    got  %.*s\n", __FILE__, __LINE__, (want), (int)(got_len), (got));    \
        }                                                                                                    \
    } while (0)

/* Call last and return its value from main. */
static inline int check_done(void)
{
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
}

#endif
