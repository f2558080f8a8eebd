/* The Unicode normal forms of one text. Some servers and file systems open a name by its equivalent, so a path is
 * read in both forms besides its own. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "path/path.h"

/* One code point decomposes into four at most. */
#define CODE_POINTS_MOST (4u * LIMIT_PATH_BYTES)

struct path_unicode {
    utf8proc_int32_t points[CODE_POINTS_MOST + 1];
};

struct path_unicode *path_unicode_create(void)
{
    return malloc(sizeof(struct path_unicode));
}

void path_unicode_destroy(struct path_unicode *unicode)
{
    free(unicode);
}

bool path_is_ascii(struct slice text)
{
    size_t at = 0;
    for (; at + 8 <= text.len; at += 8) {
        uint64_t word;
        memcpy(&word, text.ptr + at, sizeof(word));
        if ((word & 0x8080808080808080u) != 0) {
            return false;
        }
    }
    for (; at < text.len; at++) {
        if ((unsigned char)text.ptr[at] >= 0x80) {
            return false;
        }
    }
    return true;
}

bool path_normal_form(struct path_unicode *unicode, struct slice text, enum path_normal form,
                      struct slice *ret_text)
{
    const utf8proc_option_t options =
        UTF8PROC_STABLE | (form == PATH_NORMAL_NFC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
    if (text.len > LIMIT_PATH_BYTES) {
        return false;
    }
    utf8proc_ssize_t count =
        utf8proc_decompose((const utf8proc_uint8_t *)text.ptr, (utf8proc_ssize_t)text.len, unicode->points,
                           CODE_POINTS_MOST, options);
    if (count < 0 || count > (utf8proc_ssize_t)CODE_POINTS_MOST) {
        return false;
    }
    utf8proc_ssize_t len = utf8proc_reencode(unicode->points, count, options);
    if (len < 0) {
        return false;
    }
    *ret_text = (struct slice){(const char *)unicode->points, (size_t)len};
    return !slice_eq(*ret_text, text);
}
