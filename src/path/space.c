/* White space at the ends of a text, Unicode's and the control characters included: what the trimming functions of
 * some language take away. */
#include "path/internal.h"

/* How many bytes of white space stand at `at`; U+FEFF counts, because JavaScript trims it. */
static size_t space_at(const unsigned char *at, size_t left)
{
    if (at[0] <= ' ' || at[0] == 0x7F) {
        return 1;
    }
    if (left >= 2 && at[0] == 0xC2 && (at[1] == 0x85 || at[1] == 0xA0)) {
        return 2;
    }
    if (left < 3) {
        return 0;
    }
    uint32_t three = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
    bool space = three == 0xE19A80 || (three >= 0xE28080 && three <= 0xE2808A) || three == 0xE280A8 ||
                 three == 0xE280A9 || three == 0xE280AF || three == 0xE2819F || three == 0xE38080 ||
                 three == 0xEFBBBF;
    return space ? 3 : 0;
}

size_t path_space_before(struct slice text)
{
    size_t at = 0, len;
    while (at < text.len && (len = space_at((const unsigned char *)text.ptr + at, text.len - at)) > 0) {
        at += len;
    }
    return at;
}

size_t path_space_behind(struct slice text)
{
    size_t end = text.len;
    while (end > 0) {
        size_t len = 1;
        while (len < 3 && len < end && ((unsigned char)text.ptr[end - len] & 0xC0) == 0x80) {
            len++;
        }
        if (space_at((const unsigned char *)text.ptr + end - len, len) != len) {
            break;
        }
        end -= len;
    }
    return text.len - end;
}

struct slice path_trim(struct slice text)
{
    text = slice_from(text, path_space_before(text));
    text.len -= path_space_behind(text);
    return text;
}
