/* Codes that people type, and the replies they are in. */
#include "approval/code_internal.h"

#include <string.h>

#include "base/random.h"

static const char letters[] = "abcdefghijkmnopqrstuvwxyz"; /* no l: it looks like 1 */

#define LETTERS (sizeof(letters) - 1)

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (char)(c | 0x20);
    }
    return c;
}

static bool is_letter(char c)
{
    c = lower(c);
    return c >= 'a' && c <= 'z' && c != 'l';
}

bool code_valid(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_letter(text.ptr[i])) {
            return false;
        }
    }
    return text.len == CODE_LENGTH;
}

void code_copy(struct slice text, char ret_code[CODE_LENGTH + 1])
{
    for (size_t i = 0; i < CODE_LENGTH; i++) {
        ret_code[i] = lower(text.ptr[i]);
    }
    ret_code[CODE_LENGTH] = '\0';
}

bool code_random(char ret_code[CODE_LENGTH + 1])
{
    char code[CODE_LENGTH + 1] = {0};
    uint8_t bytes[4 * CODE_LENGTH];
    for (size_t filled = 0; filled < CODE_LENGTH;) {
        if (!random_bytes(bytes, sizeof(bytes))) {
            return false;
        }
        for (size_t i = 0; i < sizeof(bytes) && filled < CODE_LENGTH; i++) {
            /* 256 is no multiple of 25: the bytes beyond the last multiple would favour some letters. */
            if (bytes[i] < 256 / LETTERS * LETTERS) {
                code[filled++] = letters[bytes[i] % LETTERS];
            }
        }
    }
    memcpy(ret_code, code, sizeof(code));
    return true;
}

/* The bytes of a white space character of ECMAScript's \s at the start of text; 0: none. The form is defined
 * by such an expression, and what another surface would take for a reply must not reach the agent from here.
 */
static size_t space(struct slice text)
{
    static const char *const wide[] = {"\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9",
                                       "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF"};
    if (text.len == 0) {
        return 0;
    }
    char c = text.ptr[0];
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++) {
        if (slice_starts_with(text, slice_of(wide[i]))) {
            return strlen(wide[i]);
        }
    }
    /* U+2000 to U+200A */
    bool quad = text.len >= 3 && memcmp(text.ptr, "\xE2\x80", 2) == 0 && (unsigned char)text.ptr[2] >= 0x80 &&
                (unsigned char)text.ptr[2] <= 0x8A;
    return quad ? 3 : 0;
}

static struct slice skip_space(struct slice text)
{
    for (size_t len = space(text); len != 0; len = space(text)) {
        text = slice_from(text, len);
    }
    return text;
}

bool reply_parse(struct slice text, bool *ret_yes, char ret_code[CODE_LENGTH + 1])
{
    if (text.len == 0) {
        return false;
    }
    struct slice rest = skip_space(text);
    size_t word = 0;
    while (word < rest.len && word < 4 && lower(rest.ptr[word]) >= 'a' && lower(rest.ptr[word]) <= 'z') {
        word++;
    }
    struct slice answer = {rest.ptr, word};
    bool yes = slice_eq_ascii_case(answer, SLICE("y")) || slice_eq_ascii_case(answer, SLICE("yes"));
    bool no = slice_eq_ascii_case(answer, SLICE("n")) || slice_eq_ascii_case(answer, SLICE("no"));
    rest = slice_from(rest, word);
    struct slice code = skip_space(rest);
    if ((!yes && !no) || code.len == rest.len || code.len < CODE_LENGTH ||
        !code_valid((struct slice){code.ptr, CODE_LENGTH}) ||
        skip_space(slice_from(code, CODE_LENGTH)).len != 0) {
        return false;
    }
    *ret_yes = yes;
    code_copy(code, ret_code);
    return true;
}
