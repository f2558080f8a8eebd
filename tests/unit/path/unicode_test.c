/* The normal forms of a text. */
#include "base/buffer.h"
#include "check.h"
#include "path/path.h"

static struct path_unicode *unicode;

/* `want` NULL: the form is the text itself, or there is none. */
static void form(int line, enum path_normal which, struct slice text, const char *want)
{
    struct slice got = {"", 0};
    bool differs = path_normal_form(unicode, text, which, &got);
    bool same = want == NULL ? !differs : differs && slice_is(got, want);
    if (!same) {
        printf("line %d: want %s\n    got %.*s\n", line, want == NULL ? "nothing" : want, SLICE_FMT(got));
    }
    CHECK(same);
}

#define FORMS(text, nfc, nfd)                                                                                \
    do {                                                                                                     \
        form(__LINE__, PATH_NORMAL_NFC, SLICE(text), nfc);                                                   \
        form(__LINE__, PATH_NORMAL_NFD, SLICE(text), nfd);                                                   \
    } while (0)

static void test_forms(void)
{
    FORMS("", NULL, NULL);
    FORMS("a/b", NULL, NULL);
    FORMS("caf\xC3\xA9", NULL, "cafe\xCC\x81");
    FORMS("cafe\xCC\x81", "caf\xC3\xA9", NULL);
    FORMS("\xE2\x84\xAB", "\xC3\x85", "A\xCC\x8A");           /* the sign of the unit */
    FORMS("\xEF\xAC\x81", NULL, NULL);                        /* a ligature is no canonical equivalent */
    FORMS("\xEA\xB0\x80", NULL, "\xE1\x84\x80\xE1\x85\xA1");  /* Hangul */
    FORMS("a\xCC\xA3\xCC\x87", "\xE1\xBA\xA1\xCC\x87", NULL); /* two marks in order */
    FORMS("a\xCC\x87\xCC\xA3", "\xE1\xBA\xA1\xCC\x87", "a\xCC\xA3\xCC\x87"); /* and not */
    FORMS("\xF0\x9D\x85\x9E", "\xF0\x9D\x85\x97\xF0\x9D\x85\xA5", "\xF0\x9D\x85\x97\xF0\x9D\x85\xA5");
    FORMS("\xFF", NULL, NULL); /* no UTF-8 */
}

/* The longest path, each character of which becomes three times as long; and one more byte. */
static void test_long(void)
{
    static char text[LIMIT_PATH_BYTES + 1];
    struct slice got;
    size_t len = 0;
    while (len + 3 <= LIMIT_PATH_BYTES) {
        memcpy(text + len, "\xE1\xBC\x82", 3); /* a letter and two marks */
        len += 3;
    }
    CHECK(path_normal_form(unicode, (struct slice){text, len}, PATH_NORMAL_NFD, &got) &&
          got.len == len / 3 * 6);
    CHECK(!path_normal_form(unicode, (struct slice){text, LIMIT_PATH_BYTES + 1}, PATH_NORMAL_NFD, &got));
}

static void test_ascii(void)
{
    CHECK(path_is_ascii(SLICE("")) && path_is_ascii(SLICE("abcdefgh")) &&
          path_is_ascii(SLICE("abcdefghi\x7f")));
    for (size_t i = 0; i < 17; i++) {
        char text[17];
        memset(text, 'a', sizeof(text));
        text[i] = (char)0x80;
        CHECK(!path_is_ascii((struct slice){text, sizeof(text)}) && path_is_ascii((struct slice){text, i}));
    }
}

static void trims(const char *text, const char *want)
{
    struct slice got = path_trim(slice_of(text));
    CHECK_BYTES(got.ptr, got.len, want);
}

static void test_trim(void)
{
    trims("a", "a");
    trims("", "");
    trims(" \t\n\r\v\f\x1f\x01 a b\x7f ", "a b");
    trims("\xC2\xA0\xE1\x9A\x80\xE2\x80\x80\xE2\x80\x8A\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\x9F\xE3"
          "\x80\x80\xEF\xBB\xBF\xC2\x85x",
          "x");
    trims("x\xC2\xA0\xE2\x80\x8A\xEF\xBB\xBF", "x");
    trims("\xE2\x80\x8Bx\xE2\x80\x8B", "\xE2\x80\x8Bx\xE2\x80\x8B"); /* of no width, and no white space */
    trims("\xC3\xA0", "\xC3\xA0"); /* ends in the byte that a no-break space ends in */
    trims(" \xE3\x80\x80 ", "");
}

int main(void)
{
    unicode = path_unicode_create();
    CHECK(unicode != NULL);
    if (unicode != NULL) {
        test_forms();
        test_long();
    }
    test_ascii();
    test_trim();
    path_unicode_destroy(unicode);
    return check_done();
}
