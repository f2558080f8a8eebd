/* Redaction of single texts, inside this room. journal.h has redact_write, for values. */
#ifndef JOURNAL_REDACT_INTERNAL_H
#define JOURNAL_REDACT_INTERNAL_H

#include "base/buffer.h"

/* Appends text as a JSON string, with credentials replaced and cut to REDACT_STRING_MAX. Bytes that are no
 * UTF-8 stand as U+FFFD. */
void redact_text(struct buf *buf, struct slice text);

#endif
