/* Which names hold secrets. */
#include <string.h>

#include "journal/ascii_internal.h"
#include "journal/secrets_internal.h"

#define NAME_LENGTH 256u /* letters and digits of a name; what follows is not looked at */

#define WORD(text) {(text), sizeof(text) - 1}

struct name_pattern {
    struct slice word; /* lower case, letters and digits */
    bool whole;        /* the name is the word; else it ends with it, digits after it not counted */
    uint8_t kind;      /* enum secret_name */
    bool in_text;      /* also in a text, as in `NAME=value`, `NAME: value`, `--NAME value` */
};

/* Words that a name may have anywhere in it, by some letters that each has. */
static const struct name_pattern words_with_pass[] = {{WORD("password"), false, SECRET_NAME_ALL, true},
                                                      {WORD("passwd"), false, SECRET_NAME_ALL, true},
                                                      {WORD("passphrase"), false, SECRET_NAME_ALL, true},
                                                      {WORD("passcode"), false, SECRET_NAME_ALL, true},
                                                      {WORD("passwort"), false, SECRET_NAME_ALL, true}},
                                 words_with_cret[] = {{WORD("secret"), false, SECRET_NAME_TEXT, true},
                                                      {WORD("credential"), false, SECRET_NAME_TEXT, true}},
                                 words_with_key[] = {{WORD("apikey"), false, SECRET_NAME_TEXT, true},
                                                     {WORD("privatekey"), false, SECRET_NAME_TEXT, true}};

#define LETTERS3(a, b, c) (BIT(a) | BIT(b) | BIT(c))
static const struct {
    uint32_t letters;
    const struct name_pattern *words;
    size_t count;
} words_anywhere[] = {
    {LETTERS3('p', 'a', 's'), words_with_pass, COUNT(words_with_pass)},
    {LETTERS3('c', 'r', 'e') | BIT('t'), words_with_cret, COUNT(words_with_cret)},
    {LETTERS3('k', 'e', 'y') | LETTERS3('a', 'p', 'i'), words_with_key, COUNT(words_with_key)},
};

/* Words that a name ends with, one list for each last letter. */
static const struct name_pattern words_on_c[] = {
    {WORD("cvc"), true, SECRET_NAME_ALL, false},
};
static const struct name_pattern words_on_d[] = {
    {WORD("pwd"), false, SECRET_NAME_ALL, true},
};
static const struct name_pattern words_on_e[] = {
    {WORD("cookie"), false, SECRET_NAME_TEXT, true},
    {WORD("signature"), false, SECRET_NAME_TEXT, true},
};
static const struct name_pattern words_on_g[] = {
    {WORD("connectionstring"), false, SECRET_NAME_TEXT, true},
    {WORD("sig"), true, SECRET_NAME_TEXT, true},
};
static const struct name_pattern words_on_h[] = {
    {WORD("auth"), false, SECRET_NAME_TEXT, false},
};
static const struct name_pattern words_on_k[] = {
    {WORD("psk"), true, SECRET_NAME_ALL, true},
};
static const struct name_pattern words_on_n[] = {
    {WORD("token"), false, SECRET_NAME_TEXT, true},
    {WORD("authorization"), false, SECRET_NAME_TEXT, true},
    {WORD("pin"), true, SECRET_NAME_ALL, false},
};
static const struct name_pattern words_on_p[] = {
    {WORD("otp"), true, SECRET_NAME_ALL, false},
    {WORD("totp"), true, SECRET_NAME_ALL, false},
};
static const struct name_pattern words_on_r[] = {
    {WORD("bearer"), false, SECRET_NAME_TEXT, false},
};
static const struct name_pattern words_on_s[] = {
    {WORD("tokens"), false, SECRET_NAME_TEXT, false},
    {WORD("cookies"), false, SECRET_NAME_TEXT, false},
    {WORD("pass"), true, SECRET_NAME_TEXT, false},
    {WORD("dbpass"), false, SECRET_NAME_ALL, true},
};
static const struct name_pattern words_on_t[] = {
    {WORD("jwt"), false, SECRET_NAME_TEXT, true},
};
static const struct name_pattern words_on_v[] = {
    {WORD("cvv"), true, SECRET_NAME_ALL, false},
};
static const struct name_pattern words_on_y[] = {
    {WORD("accesskey"), false, SECRET_NAME_TEXT, true},
    {WORD("accountkey"), false, SECRET_NAME_TEXT, true},
    {WORD("authkey"), false, SECRET_NAME_TEXT, true},
    {WORD("clientkey"), false, SECRET_NAME_TEXT, true},
    {WORD("deploykey"), false, SECRET_NAME_TEXT, true},
    {WORD("encryptionkey"), false, SECRET_NAME_TEXT, true},
    {WORD("hmackey"), false, SECRET_NAME_TEXT, true},
    {WORD("masterkey"), false, SECRET_NAME_TEXT, true},
    {WORD("servicekey"), false, SECRET_NAME_TEXT, true},
    {WORD("sharedkey"), false, SECRET_NAME_TEXT, true},
    {WORD("signingkey"), false, SECRET_NAME_TEXT, true},
    {WORD("sshkey"), false, SECRET_NAME_TEXT, true},
};

static const struct name_list {
    const struct name_pattern *words;
    size_t count;
} words_by_end[128] = {
    ['c'] = LIST(words_on_c), ['d'] = LIST(words_on_d), ['e'] = LIST(words_on_e), ['g'] = LIST(words_on_g),
    ['h'] = LIST(words_on_h), ['k'] = LIST(words_on_k), ['n'] = LIST(words_on_n), ['p'] = LIST(words_on_p),
    ['r'] = LIST(words_on_r), ['s'] = LIST(words_on_s), ['t'] = LIST(words_on_t), ['v'] = LIST(words_on_v),
    ['y'] = LIST(words_on_y),
};

/* The working directory of a shell. */
static const char *const not_secret[] = {"pwd", "oldpwd"};

/* A name as the tables have it, without the marks of what was redacted in it: those name what was there. */
static struct slice plain_name(struct slice name, char out[NAME_LENGTH])
{
    size_t len = 0;
    for (size_t i = 0; i < name.len && len < NAME_LENGTH; i++) {
        if (is_alnum(name.ptr[i])) {
            out[len++] = lower(name.ptr[i]);
        } else if (name.ptr[i] == '[' && slice_starts_with(slice_from(name, i), REDACTED_MARK)) {
            const char *end = memchr(name.ptr + i, ']', name.len - i);
            i = end == NULL ? name.len - 1 : (size_t)(end - name.ptr);
        }
    }
    return (struct slice){out, len};
}

static bool name_has(struct slice name, struct slice word)
{
    for (size_t i = 0; i + word.len <= name.len; i++) {
        if (name.ptr[i] == word.ptr[0] && memcmp(name.ptr + i, word.ptr, word.len) == 0) {
            return true;
        }
    }
    return false;
}

static enum secret_name kind_of(const struct name_pattern *pattern, bool in_text)
{
    return pattern->in_text || !in_text ? (enum secret_name)pattern->kind : SECRET_NAME_NO;
}

/* A word that stands anywhere in the name. */
static enum secret_name look_inside(struct slice name, bool in_text)
{
    uint32_t letters = 0;
    for (size_t i = 0; i < name.len; i++) {
        letters |= BIT(name.ptr[i]);
    }
    for (size_t i = 0; i < COUNT(words_anywhere); i++) {
        bool may = (letters & words_anywhere[i].letters) == words_anywhere[i].letters;
        for (size_t w = 0; may && w < words_anywhere[i].count; w++) {
            const struct name_pattern *pattern = &words_anywhere[i].words[w];
            if (name_has(name, pattern->word)) {
                return kind_of(pattern, in_text);
            }
        }
    }
    return SECRET_NAME_NO;
}

enum secret_name secret_name(struct slice raw, bool in_text)
{
    char bytes[NAME_LENGTH];
    struct slice name = plain_name(raw, bytes);
    struct slice stem = name; /* without the digits at its end */
    while (stem.len > 0 && is_digit(name.ptr[stem.len - 1])) {
        stem.len--;
    }
    if (stem.len < 3) {
        return SECRET_NAME_NO; /* shorter than every word of the tables */
    }
    for (size_t i = 0; i < COUNT(not_secret); i++) {
        if (slice_is(name, not_secret[i])) {
            return SECRET_NAME_NO;
        }
    }
    const struct name_list *list = &words_by_end[(unsigned char)stem.ptr[stem.len - 1]];
    for (size_t i = 0; i < list->count; i++) {
        const struct name_pattern *pattern = &list->words[i];
        if (slice_ends_with(stem, pattern->word) && (!pattern->whole || name.len == pattern->word.len)) {
            enum secret_name kind = kind_of(pattern, in_text);
            if (kind != SECRET_NAME_NO) {
                return kind;
            }
        }
    }
    return look_inside(name, in_text);
}
