/* A policy over the whole language: commands by their beginning, exactly and by a later word, hosts, lists, arguments with
 * loose values, paths and names in them. The same one every time. */
#ifndef BENCH_LANGUAGE_H
#define BENCH_LANGUAGE_H

#include "base/buffer.h"

/* Appends one rule as JSON, without a comma. `changed`: the rule of that id after an edit, with another effect. */
void language_rule(struct buf *buf, uint32_t rule, bool changed);

#endif
