/* A policy and calls of any size for measuring: no file, the same ones every time. */
#ifndef BENCH_SYNTHETIC_H
#define BENCH_SYNTHETIC_H

#include "base/buffer.h"

/* Appends a policy document of `rules` rules and a NUL: twenty kinds of rules, the narrow before the broad,
 * under at most 1,000 directories; the tools, channels, threads and values grow with the rules. */
void synthetic_policy(struct buf *buf, uint32_t rules);

/* Appends calls for it, one a line. Half of them are made after one of its rules. A call of the last kind is
 * of 600 bytes and has no path; the others have one. */
enum synthetic_calls { SYNTHETIC_WITH_PATH, SYNTHETIC_WITHOUT_PATH };
void synthetic_calls(struct buf *buf, uint32_t rules, uint32_t count, enum synthetic_calls kind);

#endif
