/* Codes and replies. */
#include "../../check.h"
#include "approval/code_internal.h"

static void test_valid(void)
{
    CHECK(code_valid(SLICE("abcde")) && code_valid(SLICE("ABCDE")) && code_valid(SLICE("zzzzz")));
    CHECK(!code_valid(SLICE("abcdl")) && !code_valid(SLICE("abcdL")));
    CHECK(!code_valid(SLICE("abcd")) && !code_valid(SLICE("abcdef")) && !code_valid(SLICE("")));
    CHECK(!code_valid(SLICE("abcd1")) && !code_valid(SLICE("abcd ")) && !code_valid(SLICE("abcd\0")));
    CHECK(!code_valid(SLICE("abcd`")) && !code_valid(SLICE("abcd{")) && !code_valid(SLICE("abcd[")));
    CHECK(!code_valid((struct slice){NULL, 0}));
}

static void test_random(void)
{
    enum { CODES = 20000 };
    int counts[256] = {0};
    char code[CODE_LENGTH + 1];
    bool all_valid = true;
    for (int i = 0; i < CODES; i++) {
        all_valid = all_valid && code_random(code) && code_valid(slice_of(code));
        for (int j = 0; j < CODE_LENGTH; j++) {
            counts[(unsigned char)code[j]]++;
        }
    }
    CHECK(all_valid);
    /* 4,000 of each; a bias of the modulo would give eleven letters a tenth more. Ten standard deviations. */
    for (char c = 'a'; c <= 'z'; c++) {
        int count = counts[(unsigned char)c];
        CHECK(c == 'l' ? count == 0 : count > 3380 && count < 4620);
    }
    CHECK(counts['l'] == 0);
}

static void test_replies(void)
{
    static const struct {
        const char *text;
        int yes; /* -1: no reply */
        const char *code;
    } cases[] = {
        {"y abcde", 1, "abcde"},
        {"yes abcde", 1, "abcde"},
        {"n abcde", 0, "abcde"},
        {"no abcde", 0, "abcde"},
        {"Y ABCDE", 1, "abcde"},
        {"yEs aBcDe", 1, "abcde"},
        {"NO zzzzz", 0, "zzzzz"},
        {"  \t y \n\r abcde \v\f ", 1, "abcde"},
        {"\xC2\xA0yes\xE3\x80\x80"
         "abcde\xE2\x80\x89\xEF\xBB\xBF",
         1, "abcde"},
        {"", -1, NULL},
        {"y", -1, NULL},
        {"y ", -1, NULL},
        {"yabcde", -1, NULL},
        {"yesabcde", -1, NULL},
        {"y abcd", -1, NULL},
        {"y abcdef", -1, NULL},
        {"y abcdl", -1, NULL},
        {"y abcd1", -1, NULL},
        {"ye abcde", -1, NULL},
        {"yess abcde", -1, NULL},
        {"yea abcde", -1, NULL},
        {"noo abcde", -1, NULL},
        {"abcde y", -1, NULL},
        {"abcde", -1, NULL},
        {"y abcde please", -1, NULL},
        {"ok y abcde", -1, NULL},
        {"y, abcde", -1, NULL},
        {"y-abcde", -1, NULL},
        {"y abcde.", -1, NULL},
        {"\xC2 y abcde", -1, NULL},
        {"y\xE2\x80 abcde", -1, NULL},
        {"y\xE2\x80\x8B"
         "abcde",
         -1, NULL}, /* a zero width space is no white space */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool yes = false;
        char code[CODE_LENGTH + 1] = "none";
        bool is_reply = reply_parse(slice_of(cases[i].text), &yes, code);
        if (is_reply != (cases[i].yes >= 0)) {
            printf("    case %zu\n", i);
        }
        CHECK(is_reply == (cases[i].yes >= 0));
        CHECK(is_reply ? yes == (cases[i].yes == 1) && strcmp(code, cases[i].code) == 0
                       : strcmp(code, "none") == 0);
    }
    bool yes;
    char code[CODE_LENGTH + 1];
    CHECK(!reply_parse((struct slice){NULL, 0}, &yes, code));
    CHECK(!reply_parse(SLICE("y abcde\0"), &yes, code));
    CHECK(!reply_parse(SLICE("y\0abcde"), &yes, code));
}

int main(void)
{
    test_valid();
    test_random();
    test_replies();
    return check_done();
}
