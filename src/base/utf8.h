/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdint.h>

#include "base/buffer.h"

/* The offset of the first byte that is not valid UTF-8; s.len when all is. */
size_t utf8_valid_upto(struct slice s);

/* The length of the valid character that begins at `at`, where `left` > 0 bytes are; 0 when none does. */
size_t utf8_char_len(const char *at, size_t left);

/* How many characters (code points) s has; s must be valid. */
size_t utf8_count(struct slice s);

/* Appends one code point, which must be a valid scalar value. */
void utf8_append(struct buf *buf, uint32_t code_point);

/* Decodes the character at *pos of a valid s and moves *pos behind it. */
uint32_t utf8_next(struct slice s, size_t *pos);

/* Whether a character changes how other text looks, or cannot be seen: controls, bidirectional controls, line
 * separators, zero-width and filler characters, variation selectors and tags. */
bool utf8_unseen(uint32_t code_point);

/* Appends s with each byte that is part of no valid character as U+FFFD, and unseen ones as
 * \u{XXXX}: what a terminal may be shown. */
void utf8_append_printable(struct buf *buf, struct slice s);

#endif
