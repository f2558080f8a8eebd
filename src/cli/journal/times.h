/* Times as people write and read them, beside the UTC texts that stand in a journal. */
#ifndef CLI_JOURNAL_TIMES_H
#define CLI_JOURNAL_TIMES_H

#include "base/buffer.h"
#include "base/clock.h"

/* Reads a time: a date (2026-11-30), with a time of day (2026-11-30T12:30, 2026-11-30 12:30:05), both local unless a Z
 * follows, or how long ago (90s, 15m, 2h, 7d). Writes it as events have it. */
MUST_USE bool times_read(const char *text, int64_t now_ms, char ret_ts[CLOCK_ISO_SIZE]);

/* Appends an event's time in local time, to the second: `2026-11-30 12:30:05`; another text as it is. */
void times_write_local(struct buf *out, struct slice ts);

#endif
