/* A fuzz target is one file, fuzz_NAME.c, that defines LLVMFuzzerTestOneInput and ends the program with
 * FUZZ_CHECK when something that must hold does not. fuzz/meson.build makes two programs of it: one with
 * libFuzzer, and one with driver.c for every compiler. NAME.seeds holds inputs to start from, one a line (%HH
 * is a byte). */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                                                     \
    do {                                                                                                     \
        if (!(cond)) {                                                                                       \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);                        \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
