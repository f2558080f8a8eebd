/* A policy that is less kind to analysis than the synthetic one: few tools, so that most rules meet; a
 * directory of its own for nearly every prefix, one inside the other up to 32 deep; up to four arguments from
 * few values. The same one every time. */
#ifndef BENCH_CROWDED_H
#define BENCH_CROWDED_H

#include "base/buffer.h"

/* Appends one rule as JSON, without a comma. Rules of a low number have many fields, later ones fewer.
 * `edition` other than 0: the rule of that id after an edit, with another match and another effect.
 * `path_arguments`: some of the arguments are `path`, which is read as one. */
void crowded_rule(struct buf *buf, uint32_t rule, uint32_t rules, uint32_t edition, bool path_arguments);

#endif
