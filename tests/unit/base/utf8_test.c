/* UTF-8: what is valid, where it stops being so, and what a terminal may be shown. */
#include "../../check.h"
#include "base/utf8.h"

static void check_upto(struct slice s, size_t want)
{
    CHECK(utf8_valid_upto(s) == want);
    /* The same behind a long run of ASCII, where eight bytes are read at a time. */
    char padded[64] = "0123456789abcdefghijklm";
    size_t pad = strlen(padded);
    memcpy(padded + pad, s.ptr, s.len);
    CHECK(utf8_valid_upto((struct slice){padded, pad + s.len}) == pad + want);
    memcpy(padded + pad + s.len, "0123456789", 10);
    bool cut = want < s.len;
    CHECK(utf8_valid_upto((struct slice){padded, pad + s.len + 10}) == pad + want + (cut ? 0 : 10));
}

static void test_valid(void)
{
    check_upto(SLICE(""), 0);
    check_upto(SLICE("plain"), 5);
    check_upto(SLICE("\0\x7f"), 2);
    check_upto(SLICE("\xC2\x80\xDF\xBF"), 4);
    check_upto(SLICE("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"), 12);
    check_upto(SLICE("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), 8);
    check_upto(SLICE("a\x80"), 1);        /* a continuation alone */
    check_upto(SLICE("a\xC0\x80"), 1);    /* overlong NUL */
    check_upto(SLICE("a\xC1\xBF"), 1);    /* overlong */
    check_upto(SLICE("\xE0\x9F\xBF"), 0); /* overlong */
    check_upto(SLICE("\xED\xA0\x80"), 0); /* a surrogate */
    check_upto(SLICE("\xF0\x8F\xBF\xBF"), 0);
    check_upto(SLICE("\xF4\x90\x80\x80"), 0); /* U+110000 */
    check_upto(SLICE("\xF5\x80\x80\x80"), 0);
    check_upto(SLICE("\xFF"), 0);
    check_upto(SLICE("ab\xE2\x82"), 2); /* cut off */
    check_upto(SLICE("ab\xE2\x82x"), 2);
    check_upto(SLICE("ab\xF0\x9F\x98"), 2);
    check_upto(SLICE("ab\xC3"), 2);
}

/* Every code point there and back; every surrogate refused. */
static void test_round_trip(void)
{
    struct buf buf;
    buf_init(&buf, 16);
    int wrong = 0;
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point++) {
        buf_reset(&buf);
        utf8_append(&buf, code_point);
        bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
        size_t pos = 0;
        if (surrogate) {
            wrong += utf8_valid_upto(buf_slice_of(&buf)) != 0;
        } else {
            wrong += utf8_valid_upto(buf_slice_of(&buf)) != buf.len;
            wrong += utf8_next(buf_slice_of(&buf), &pos) != code_point || pos != buf.len;
            wrong += utf8_count(buf_slice_of(&buf)) != 1;
        }
    }
    CHECK(wrong == 0);
    buf_finish(&buf);
    CHECK(utf8_count(SLICE("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")) == 4);
}

static void check_printable(struct slice s, const char *want)
{
    struct buf buf;
    buf_init(&buf, 1000);
    utf8_append_printable(&buf, s);
    CHECK(buf_ok(&buf));
    CHECK_BYTES(buf.ptr, buf.len, want);
    buf_finish(&buf);
}

static void test_printable(void)
{
    check_printable(SLICE("plain \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
                    "plain \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    check_printable(SLICE("a\nb\tc\0d\x1B[31m\x7F"), "a\\u{000A}b\\u{0009}c\\u{0000}d\\u{001B}[31m\\u{007F}");
    check_printable(SLICE("\xC2\x9B"), "\\u{009B}"); /* CSI in one character */
    check_printable(SLICE("a\xE2\x80\xAE"
                          "b"),
                    "a\\u{202E}b"); /* right-to-left override */
    check_printable(SLICE("a\xE2\x81\xA6"
                          "b"),
                    "a\\u{2066}b"); /* an isolate */
    check_printable(SLICE("a\xE2\x80\x8B"
                          "b"),
                    "a\\u{200B}b"); /* zero-width space */
    check_printable(SLICE("\xEF\xBB\xBFx"), "\\u{FEFF}x");
    check_printable(SLICE("\xF3\xA0\x81\x81"), "\\u{E0041}"); /* a tag */
    check_printable(SLICE("a\xFF\xC3"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
    check_printable(SLICE("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

int main(void)
{
    test_valid();
    test_round_trip();
    test_printable();
    return check_done();
}
