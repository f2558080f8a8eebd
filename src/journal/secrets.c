/* The walk through a text that finds what looks like a credential.
 *
 * People read redacted texts before they approve a call, so a call must not be able to hide a command behind
 * something that merely looks like a secret: a value in a text ends where a shell would see anything but a
 * plain word, and one that holds a command substitution is left as it is. */
#include <string.h>

#include "journal/ascii_internal.h"
#include "journal/secrets_internal.h"

#define WORD_LENGTH  64u   /* of a name in a text: `NAME=value` */
#define VALUE_LENGTH 8192u /* of a quoted value in a text */

/* ---- Credentials that begin with a word of their own ---- */

enum run {
    ALNUM,      /* A-Z a-z 0-9 */
    UPPER,      /* A-Z 0-9 */
    WORD,       /* ALNUM and _ */
    DASHED,     /* WORD and - */
    DOTTED,     /* DASHED and . */
    BASE64,     /* ALNUM and + / = */
    PATH_WORDS, /* ALNUM and / */
};

struct prefix {
    const char *text; /* three bytes or more */
    const char *label;
    uint8_t run;   /* enum run: what follows */
    uint8_t least; /* of it, for a match */
    bool alone;    /* only where no letter or digit stands before: the prefix is a part of common words */
};

/* One list for each first letter, so that a text is compared with few of them. */
static const struct prefix on_upper_a[] = {
    {"AKIA", "AWS access key", UPPER, 16, true},      {"ASIA", "AWS access key", UPPER, 16, true},
    {"AIza", "Google API key", DASHED, 30, false},    {"AGE-SECRET-KEY-1", "age key", UPPER, 20, false},
    {"ATATT3", "Atlassian token", DASHED, 20, false}, {"ATCTT3", "Atlassian token", DASHED, 20, false},
};
static const struct prefix on_upper_g[] = {
    {"GOCSPX-", "Google client secret", DASHED, 20, false},
};
static const struct prefix on_upper_s[] = {
    {"SG.", "SendGrid key", DOTTED, 30, true},
};
static const struct prefix on_d[] = {
    {"dckr_pat_", "Docker token", DASHED, 16, false},    {"dapi", "Databricks token", ALNUM, 32, true},
    {"dop_v1_", "DigitalOcean token", ALNUM, 32, false}, {"doo_v1_", "DigitalOcean token", ALNUM, 32, false},
    {"dor_v1_", "DigitalOcean token", ALNUM, 32, false},
};
static const struct prefix on_g[] = {
    {"ghp_", "GitHub token", ALNUM, 20, false},    {"gho_", "GitHub token", ALNUM, 20, false},
    {"ghu_", "GitHub token", ALNUM, 20, false},    {"ghs_", "GitHub token", DOTTED, 20, false},
    {"ghr_", "GitHub token", ALNUM, 20, false},    {"github_pat_", "GitHub token", WORD, 20, false},
    {"glpat-", "GitLab token", DOTTED, 16, false}, {"gldt-", "GitLab token", DASHED, 16, false},
    {"glrt-", "GitLab token", DASHED, 16, false},  {"glptt-", "GitLab token", DASHED, 16, false},
    {"glcbt-", "GitLab token", DASHED, 16, false}, {"glsa_", "Grafana token", WORD, 20, false},
    {"glc_", "Grafana token", BASE64, 32, true},
};
static const struct prefix on_h[] = {
    {"hf_", "Hugging Face token", ALNUM, 30, true},
    {"hvs.", "Vault token", DASHED, 20, true},
    {"hvb.", "Vault token", DASHED, 20, true},
    {"hooks.slack.com/services/", "Slack webhook", PATH_WORDS, 20, false},
};
static const struct prefix on_l[] = {
    {"lin_api_", "Linear key", ALNUM, 20, false},
};
static const struct prefix on_n[] = {
    {"npm_", "npm token", ALNUM, 30, true},
};
static const struct prefix on_p[] = {
    {"pypi-", "PyPI token", DASHED, 40, true},
};
static const struct prefix on_r[] = {
    {"rk_live_", "Stripe key", ALNUM, 16, false},
    {"rk_test_", "Stripe key", ALNUM, 16, false},
};
static const struct prefix on_s[] = {
    {"sk-", "API key", DASHED, 20, true},          {"sk_live_", "Stripe key", ALNUM, 16, false},
    {"sk_test_", "Stripe key", ALNUM, 16, false},  {"shpat_", "Shopify token", ALNUM, 24, false},
    {"shpss_", "Shopify token", ALNUM, 24, false}, {"shpca_", "Shopify token", ALNUM, 24, false},
};
static const struct prefix on_w[] = {
    {"whsec_", "Stripe key", BASE64, 16, false},
};
static const struct prefix on_x[] = {
    {"xoxb-", "Slack token", DASHED, 10, false}, {"xoxp-", "Slack token", DASHED, 10, false},
    {"xoxa-", "Slack token", DASHED, 10, false}, {"xoxr-", "Slack token", DASHED, 10, false},
    {"xoxs-", "Slack token", DASHED, 10, false}, {"xoxe-", "Slack token", DASHED, 10, false},
    {"xoxe.", "Slack token", DASHED, 10, false}, {"xapp-", "Slack token", DASHED, 10, false},
};
static const struct prefix on_y[] = {
    {"ya29.", "Google token", DASHED, 20, true},
};

static const struct prefix_list {
    const struct prefix *prefixes;
    size_t count;
} prefix_lists[128] = {
    ['A'] = LIST(on_upper_a), ['G'] = LIST(on_upper_g), ['S'] = LIST(on_upper_s), ['d'] = LIST(on_d),
    ['g'] = LIST(on_g),       ['h'] = LIST(on_h),       ['l'] = LIST(on_l),       ['n'] = LIST(on_n),
    ['p'] = LIST(on_p),       ['r'] = LIST(on_r),       ['s'] = LIST(on_s),       ['w'] = LIST(on_w),
    ['x'] = LIST(on_x),       ['y'] = LIST(on_y),
};

/* Which second bytes are worth a look behind a first one, by their low five bits: most of a text is passed
 * over by this alone. Must know every prefix above and every form below. */
static const uint32_t seconds[256] = {
    ['-'] = BIT('-'),
    [':'] = UINT32_MAX,
    ['='] = UINT32_MAX,
    ['A'] = BIT('K') | BIT('S') | BIT('I') | BIT('G') | BIT('T') | BIT('C'),
    ['B'] = BIT('e'),
    ['G'] = BIT('O'),
    ['S'] = BIT('G'),
    ['b'] = BIT('e'),
    ['d'] = BIT('c') | BIT('a') | BIT('o'),
    ['e'] = BIT('y'),
    ['g'] = BIT('h') | BIT('i') | BIT('l'),
    ['h'] = BIT('f') | BIT('v') | BIT('o'),
    ['l'] = BIT('i'),
    ['n'] = BIT('p'),
    ['p'] = BIT('y'),
    ['r'] = BIT('k'),
    ['s'] = BIT('k') | BIT('h'),
    ['w'] = BIT('h'),
    ['x'] = BIT('o') | BIT('a'),
    ['y'] = BIT('a'),
};

static bool in_run(char c, enum run run)
{
    if (is_digit(c) || is_upper(c)) {
        return true;
    }
    if (run == UPPER) {
        return false;
    }
    if (is_lower(c)) {
        return true;
    }
    switch (c) {
    case '_':
        return run == WORD || run == DASHED || run == DOTTED;
    case '-':
        return run == DASHED || run == DOTTED;
    case '.':
        return run == DOTTED;
    case '+':
    case '=':
        return run == BASE64;
    case '/':
        return run == BASE64 || run == PATH_WORDS;
    default:
        return false;
    }
}

static size_t run_end(struct slice text, size_t at, enum run run)
{
    while (at < text.len && in_run(text.ptr[at], run)) {
        at++;
    }
    return at;
}

static bool starts_at(struct slice text, size_t at, const char *word)
{
    return at <= text.len && slice_starts_with(slice_from(text, at), slice_of(word));
}

/* A failed look reads at most the prefix and `least` bytes more, so many of them stay linear. */
static bool find_prefix(const struct secret_scan *scan, size_t at, struct secret *ret_secret)
{
    struct slice text = scan->text;
    unsigned char first = (unsigned char)text.ptr[at];
    if (first >= COUNT(prefix_lists) || text.len - at < 3) {
        return false;
    }
    const struct prefix_list *list = &prefix_lists[first];
    for (const struct prefix *prefix = list->prefixes; prefix < list->prefixes + list->count; prefix++) {
        if (memcmp(text.ptr + at + 1, prefix->text + 1, 2) != 0 || !starts_at(text, at, prefix->text) ||
            (prefix->alone && at > scan->floor && is_alnum(text.ptr[at - 1]))) {
            continue;
        }
        size_t body = at + strlen(prefix->text);
        size_t enough = body + prefix->least;
        struct slice look = {text.ptr, text.len < enough ? text.len : enough};
        if (run_end(look, body, (enum run)prefix->run) == enough) {
            *ret_secret = (struct secret){at, run_end(text, enough, (enum run)prefix->run), prefix->label};
            return true;
        }
    }
    return false;
}

/* ---- Credentials with a form of their own ---- */

/* header.payload.signature in base64url; the header's text begins with `{"`. Encrypted ones have more parts.
 */
static bool find_jwt(struct secret_scan *scan, size_t at, struct secret *ret_secret)
{
    struct slice text = scan->text;
    if (at < scan->jwt_until || !starts_at(text, at, "eyJ")) {
        return false;
    }
    size_t header = run_end(text, at, DASHED);
    size_t payload =
        header < text.len && text.ptr[header] == '.' ? run_end(text, header + 1, DASHED) : header;
    if (header - at < 10 || payload < header + 5) {
        /* What ends here ends here for every start in between. */
        scan->jwt_until = header;
        return false;
    }
    *ret_secret = (struct secret){at, run_end(text, payload, DOTTED), "JWT"};
    return true;
}

/* Behind the white space at `at`, as written or as escapes. */
static size_t skip_lines(struct slice text, size_t at)
{
    for (;;) {
        if (starts_at(text, at, "\\n") || starts_at(text, at, "\\r")) {
            at += 2;
        } else if (at < text.len && text.ptr[at] != '\0' && strchr(" \t\r\n", text.ptr[at]) != NULL) {
            at++;
        } else {
            return at;
        }
    }
}

/* The end of a key's words of base64. All but the last are long: a command between the lines of what merely
 * looks like a key stays visible. */
static size_t pem_body(struct slice text, size_t at)
{
    for (;;) {
        size_t word = skip_lines(text, at), end = word;
        if (starts_at(text, word, "Proc-Type: ") || starts_at(text, word, "DEK-Info: ")) {
            while (end < text.len && (in_run(text.ptr[end], DASHED) || text.ptr[end] == ' ' ||
                                      text.ptr[end] == ':' || text.ptr[end] == ',')) {
                end++;
            }
        } else {
            end = run_end(text, word, BASE64);
        }
        size_t next = skip_lines(text, end);
        bool last = next == text.len || starts_at(text, next, "-----END ");
        if (end == word || (end - word < 16 && !last)) {
            return at;
        }
        at = end;
    }
}

/* Behind the label and the dashes of a `-----BEGIN ` or `-----END ` that ends at `at`; 0 if they are not
 * there. */
static size_t pem_label(struct slice text, size_t at, bool *ret_private)
{
    size_t end = at;
    while (end < text.len && end - at < 64 && (in_run(text.ptr[end], UPPER) || text.ptr[end] == ' ')) {
        end++;
    }
    *ret_private = memmem(text.ptr + at, end - at, "PRIVATE KEY", 11) != NULL;
    return starts_at(text, end, "-----") ? end + 5 : 0;
}

/* A private key in PEM form, with its end line if it has one. */
static bool find_pem(struct slice text, size_t at, struct secret *ret_secret)
{
    bool private_key = false;
    size_t body = starts_at(text, at, "-----BEGIN ") ? pem_label(text, at + 11, &private_key) : 0;
    if (body == 0 || !private_key) {
        return false;
    }
    size_t end = pem_body(text, body), line = skip_lines(text, end);
    size_t last = starts_at(text, line, "-----END ") ? pem_label(text, line + 9, &private_key) : 0;
    *ret_secret = (struct secret){at, last == 0 ? end : last, "private key"};
    return true;
}

static bool has_word(struct slice text, size_t at, const char *lower_word)
{
    for (size_t i = 0; lower_word[i] != '\0'; i++) {
        if (at + i >= text.len || lower(text.ptr[at + i]) != lower_word[i]) {
            return false;
        }
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static size_t skip_spaces(struct slice text, size_t at, size_t most)
{
    for (size_t i = 0; i < most && at < text.len && is_space(text.ptr[at]); i++) {
        at++;
    }
    return at;
}

/* `Bearer TOKEN` */
static bool find_bearer(const struct secret_scan *scan, size_t at, struct secret *ret_secret)
{
    struct slice text = scan->text;
    if (!has_word(text, at, "bearer") || (at > scan->floor && is_alnum(text.ptr[at - 1]))) {
        return false;
    }
    size_t token = skip_spaces(text, at + 6, 8), end = token;
    while (end < text.len &&
           (in_run(text.ptr[end], DOTTED) || in_run(text.ptr[end], BASE64) || text.ptr[end] == '~')) {
        end++;
    }
    if (token == at + 6 || end - token < 8) {
        return false;
    }
    *ret_secret = (struct secret){token, end, "bearer token"};
    return true;
}

/* Not the backquote: a shell runs what stands between two of those. */
static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Text that a shell would run, or that is a secret no more: left for people to see. */
static bool stays_visible(struct slice value)
{
    return value.len == 0 || slice_starts_with(value, REDACTED_MARK) ||
           slice_starts_with(value, SLICE(TRUNCATED_MARK)) || memchr(value.ptr, '`', value.len) != NULL ||
           memmem(value.ptr, value.len, "$(", 2) != NULL;
}

/* scheme://user:PASSWORD@host: notes where the password is, and goes on with what stands before it. Reads no
 * further than the next `/`, so many of them stay linear. */
static void note_url_password(struct secret_scan *scan, size_t at)
{
    struct slice text = scan->text;
    size_t colon = 0, end = 0;
    for (size_t i = at + 3; i < text.len; i++) {
        char c = text.ptr[i];
        if ((unsigned char)c <= ' ' || is_quote(c) || strchr("`/?#<>\\", c) != NULL) {
            break;
        }
        if (c == ':' && colon == 0) {
            colon = i;
        }
        if (c == '@') {
            end = i;
        }
    }
    if (colon != 0 && end > colon + 1 &&
        !stays_visible((struct slice){text.ptr + colon + 1, end - colon - 1})) {
        scan->url_at = colon + 1;
        scan->url_end = end;
    }
}

/* ---- NAME=value, NAME: value, "NAME": "value", 'NAME: value', --NAME value ---- */

static bool in_value(char c)
{
    return (unsigned char)c > ' ' && strchr("\"'`$(){};|&<>,\\\x7f", c) == NULL;
}

static bool in_name(char c)
{
    return in_run(c, DOTTED);
}

/* What stands up to the next quote `quote`, if a shell would see plain text in it. */
static bool quoted_value(struct slice text, size_t from, char quote, size_t *ret_end)
{
    size_t most = text.len - from < VALUE_LENGTH ? text.len - from : VALUE_LENGTH;
    const char *closing = most == 0 ? NULL : memchr(text.ptr + from, quote, most);
    if (closing == NULL) {
        return false;
    }
    size_t end = (size_t)(closing - text.ptr);
    while (end > from && text.ptr[end - 1] == '\\') {
        end--; /* JSON inside JSON */
    }
    *ret_end = end;
    return !stays_visible((struct slice){text.ptr + from, end - from});
}

static size_t word_end(struct slice text, size_t from)
{
    while (from < text.len && in_value(text.ptr[from])) {
        from++;
    }
    return from;
}

/* A plain word, and the one after it if the first names a scheme (`Authorization: Basic …`). */
static size_t bare_value(struct slice text, size_t from)
{
    static const char *const schemes[] = {"basic", "bearer", "token", "digest", "negotiate", "apikey"};
    size_t end = word_end(text, from);
    for (size_t i = 0; i < COUNT(schemes); i++) {
        if (end - from == strlen(schemes[i]) && has_word(text, from, schemes[i])) {
            size_t next = skip_spaces(text, end, 8);
            return next > end ? word_end(text, next) : end;
        }
    }
    return end;
}

/* The value that begins at or soon after `at`. `around` is the quote that stands before the name, or 0. */
static bool find_value(struct slice text, size_t at, char around, struct secret *ret_secret)
{
    size_t start = skip_spaces(text, at, 8), end;
    if (around != 0 && quoted_value(text, start, around, &end)) {
        *ret_secret = (struct secret){start, end, "secret"};
        return true;
    }
    size_t open = start;
    while (open < text.len && open - start < 4 && text.ptr[open] == '\\') {
        open++;
    }
    if (open < text.len && is_quote(text.ptr[open])) {
        start = open + 1;
        if (quoted_value(text, start, text.ptr[open], &end)) {
            *ret_secret = (struct secret){start, end, "secret"};
            return true;
        }
    }
    end = bare_value(text, start);
    if (stays_visible((struct slice){text.ptr + start, end - start})) {
        return false;
    }
    *ret_secret = (struct secret){start, end, "secret"};
    return true;
}

/* `at` is a `=` or a `:`. Looks back at most WORD_LENGTH bytes and some. */
static bool find_assignment(const struct secret_scan *scan, size_t at, struct secret *ret_secret)
{
    struct slice text = scan->text;
    const size_t floor = scan->floor;
    size_t end = at;
    if (text.ptr[at] == '=' && end > floor && text.ptr[end - 1] == ':') {
        end--;
    }
    for (size_t i = 0; i < 4 && end > floor && is_space(text.ptr[end - 1]); i++) {
        end--;
    }
    bool closed = end > floor && is_quote(text.ptr[end - 1]);
    if (closed) {
        end--;
        for (size_t i = 0; i < 4 && end > floor && text.ptr[end - 1] == '\\'; i++) {
            end--;
        }
    }
    size_t start = end;
    while (start > floor && end - start < WORD_LENGTH && in_name(text.ptr[start - 1])) {
        start--;
    }
    if (secret_name((struct slice){text.ptr + start, end - start}, true) == SECRET_NAME_NO) {
        return false;
    }
    char around = '\0';
    if (!closed && text.ptr[at] == ':' && start > floor && is_quote(text.ptr[start - 1])) {
        around = text.ptr[start - 1]; /* a header: 'NAME: value' */
    }
    size_t after = at + 1;
    if (after < text.len && (text.ptr[after] == '=' || text.ptr[after] == '>')) {
        after++; /* ==, :=, => */
    }
    return find_value(text, after, around, ret_secret);
}

/* `--NAME value`; with a `=` between them it is an assignment. */
static bool find_option(const struct secret_scan *scan, size_t at, struct secret *ret_secret)
{
    struct slice text = scan->text;
    if (!starts_at(text, at, "--") || (at > scan->floor && in_name(text.ptr[at - 1]))) {
        return false;
    }
    size_t name = at + 2, end = name;
    while (end < text.len && end - name < WORD_LENGTH && in_name(text.ptr[end])) {
        end++;
    }
    if (end == name || end >= text.len || !is_space(text.ptr[end]) ||
        secret_name((struct slice){text.ptr + name, end - name}, true) == SECRET_NAME_NO) {
        return false;
    }
    size_t value = skip_spaces(text, end, 8);
    return value < text.len && text.ptr[value] != '-' && find_value(text, value, '\0', ret_secret);
}

/* ---- The walk ---- */

static bool find_at(struct secret_scan *scan, size_t at, struct secret *ret_secret)
{
    struct slice text = scan->text;
    switch (text.ptr[at]) {
    case '-':
        return find_pem(text, at, ret_secret) || find_option(scan, at, ret_secret);
    case ':':
        if (starts_at(text, at, "://")) {
            note_url_password(scan, at);
            return false;
        }
        return find_assignment(scan, at, ret_secret);
    case '=':
        return find_assignment(scan, at, ret_secret);
    case 'b':
    case 'B':
        return find_bearer(scan, at, ret_secret);
    case 'e':
        return find_jwt(scan, at, ret_secret);
    default:
        return find_prefix(scan, at, ret_secret);
    }
}

static inline bool worth_a_look(const unsigned char *two)
{
    return (seconds[two[0]] & BIT(two[1])) != 0;
}

/* The next place before `stop` where something may begin. */
static size_t next_look(const unsigned char *bytes, size_t at, size_t stop)
{
    for (; at + 4 <= stop; at += 4) {
        if (worth_a_look(bytes + at)) {
            return at;
        }
        if (worth_a_look(bytes + at + 1)) {
            return at + 1;
        }
        if (worth_a_look(bytes + at + 2)) {
            return at + 2;
        }
        if (worth_a_look(bytes + at + 3)) {
            return at + 3;
        }
    }
    while (at < stop && !worth_a_look(bytes + at)) {
        at++;
    }
    return at;
}

bool secret_next(struct secret_scan *scan, struct secret *ret_secret)
{
    const unsigned char *bytes = (const unsigned char *)scan->text.ptr;
    /* Nothing begins at the last byte of a text. */
    size_t stop = scan->stop < scan->text.len ? scan->stop : scan->text.len == 0 ? 0 : scan->text.len - 1;
    struct secret found;
    for (size_t at = scan->at; at < stop; at++) {
        bool is_secret = false;
        bool url_ahead = scan->url_end != 0 && scan->url_at >= at && scan->url_at < stop;
        at = next_look(bytes, at, url_ahead ? scan->url_at : stop);
        if (url_ahead && at == scan->url_at) {
            found = (struct secret){at, scan->url_end, "password in a URL"};
            is_secret = true;
        } else if (at < stop) {
            is_secret = find_at(scan, at, &found);
        }
        if (is_secret) {
            scan->at = scan->floor = found.end;
            scan->url_end = found.end > scan->url_at ? 0 : scan->url_end;
            *ret_secret = found;
            return true;
        }
    }
    scan->at = scan->at < stop ? stop : scan->at;
    return false;
}
