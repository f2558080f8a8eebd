/* Differences between the lists of path and tree arguments, and how a box is written. For this room only. */
#ifndef ANALYSIS_LISTED_INTERNAL_H
#define ANALYSIS_LISTED_INTERNAL_H

#include "analysis/analysis.h"
#include "analysis/witness_internal.h"

/* A class for each name that is a path (or tree) argument of a key's tools on one side only. */
void listed_compare(struct space *space, struct witness *witness, struct diff *diff);

/* A box as a match in JSON, members in RFC 8785's order; two patterns asked of one path stand as an array. */
void listed_write_box(struct buf *buf, const struct space *space, const struct box *box);

/* In diff.c: one more class, zeroed, or NULL (diff->failed). */
struct diff_class *diff_add(struct diff *diff);

#endif
