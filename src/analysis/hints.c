/* The annotations that calls are tried with: each hint true, false, or not known. */
#include "analysis/hints_internal.h"

enum { HINT_NOT_KNOWN, HINT_TRUE, HINT_FALSE, HINT_WAYS };

static bool asks_about(uint8_t hints, enum hint hint)
{
    return (hints & (hint_bit(hint, true) | hint_bit(hint, false))) != 0;
}

uint32_t hints_profiles(uint8_t hints)
{
    uint32_t count = 1;
    for (enum hint hint = 0; hint < HINT_COUNT; hint++) {
        count *= asks_about(hints, hint) ? HINT_WAYS : 1;
    }
    return count;
}

void hints_write_profile(struct buf *call, uint8_t hints, uint32_t profile)
{
    char before = '{';
    if (profile == 0) {
        return;
    }
    buf_text(call, ",\"annotations\":");
    for (enum hint hint = 0; hint < HINT_COUNT; hint++) {
        static const char *const values[HINT_WAYS] = {"null", "true", "false"};
        if (asks_about(hints, hint)) {
            buf_printf(call, "%c\"%s\":%s", before, hint_names[hint], values[profile % HINT_WAYS]);
            profile /= HINT_WAYS;
            before = ',';
        }
    }
    buf_byte(call, '}');
}

bool hints_profile_in(uint8_t hints, uint32_t profile, uint32_t annotations)
{
    for (enum hint hint = 0; hint < HINT_COUNT; hint++) {
        if (asks_about(hints, hint)) {
            uint32_t way = profile % HINT_WAYS;
            if (way != HINT_NOT_KNOWN && (annotations & hint_bit(hint, way == HINT_FALSE)) != 0) {
                return false;
            }
            profile /= HINT_WAYS;
        }
    }
    return true;
}
