/* Replies. For ASCII texts without a NUL the C library's regular expressions are the second opinion. */
#include <regex.h>
#include <string.h>

#include "approval/approval.h"
#include "fuzz.h"

static regex_t *form(void)
{
    static regex_t regex;
    static bool made;
    if (!made) {
        /* The white space of ASCII, by name: [[:space:]] is the same in the C locale. */
        FUZZ_CHECK(regcomp(&regex, "^[[:space:]]*(y|yes|n|no)[[:space:]]+([a-km-z]{5})[[:space:]]*$",
                           REG_EXTENDED | REG_ICASE) == 0);
        made = true;
    }
    return &regex;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    bool yes = false;
    char code[CODE_LENGTH + 1] = "";
    bool is_reply = reply_parse(text, &yes, code);
    FUZZ_CHECK(is_reply == (code[0] != '\0'));
    if (is_reply) {
        FUZZ_CHECK(code_valid(slice_of(code)));
        for (size_t i = 0; i < CODE_LENGTH; i++) {
            FUZZ_CHECK(code[i] >= 'a' && code[i] <= 'z');
        }
    }
    char copy[256];
    bool plain = size < sizeof(copy) && (size == 0 || memchr(data, 0, size) == NULL);
    for (size_t i = 0; i < size && plain; i++) {
        plain = data[i] < 0x80;
    }
    if (plain) {
        regmatch_t match[3];
        if (size != 0) {
            memcpy(copy, data, size);
        }
        copy[size] = '\0';
        FUZZ_CHECK((regexec(form(), copy, 3, match, 0) == 0) == is_reply);
        if (is_reply) {
            char first = copy[match[1].rm_so];
            FUZZ_CHECK(yes == (first == 'y' || first == 'Y'));
            FUZZ_CHECK(strncasecmp(copy + match[2].rm_so, code, CODE_LENGTH) == 0);
        }
    }
    return 0;
}
