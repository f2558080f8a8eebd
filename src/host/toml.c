/* As much of TOML as single settings and names of tables take. */
#include "host/toml.h"

#include <string.h>

struct slice toml_trimmed(struct slice s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s = slice_from(s, 1);
    }
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\r')) {
        s.len--;
    }
    return s;
}

static bool plain_key(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* One part of a key at the start of a text, without its quotes; *ret_end: where it ends. ptr NULL: none. */
static struct slice key_part(struct slice text, size_t *ret_end)
{
    char quote = text.len && (text.ptr[0] == '"' || text.ptr[0] == '\'') ? text.ptr[0] : '\0';
    size_t end = quote ? 1 : 0, start = end;
    while (end < text.len &&
           (quote ? text.ptr[end] != quote && text.ptr[end] != '\\' : plain_key(text.ptr[end]))) {
        end++;
    }
    if (quote && (end >= text.len || text.ptr[end] != quote)) {
        return (struct slice){0};
    }
    *ret_end = end + (quote ? 1 : 0);
    return (struct slice){text.ptr + start, end - start};
}

struct slice toml_table_name(struct slice header, struct slice table)
{
    size_t end;
    if (header.len < table.len + 3 || header.ptr[0] != '[') {
        return (struct slice){0};
    }
    header = toml_trimmed(slice_from(header, 1));
    if (!slice_starts_with(header, table)) {
        return (struct slice){0};
    }
    header = toml_trimmed(slice_from(header, table.len));
    if (header.len == 0 || header.ptr[0] != '.') {
        return (struct slice){0};
    }
    return key_part(toml_trimmed(slice_from(header, 1)), &end);
}

/* Where a character stands outside quotes; the length where it does not. */
static size_t outside_quotes(struct slice text, char wanted)
{
    char quote = '\0';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == wanted) {
            return i;
        }
    }
    return text.len;
}

bool toml_next(struct slice *text, struct toml_line *line)
{
    while (text->len > 0) {
        const char *lf = memchr(text->ptr, '\n', text->len);
        size_t len = lf != NULL ? (size_t)(lf - text->ptr) : text->len;
        struct slice at = toml_trimmed((struct slice){text->ptr, len});
        *text = slice_from(*text, lf != NULL ? len + 1 : len);
        at = toml_trimmed((struct slice){at.ptr, outside_quotes(at, '#')});
        size_t equals = outside_quotes(at, '=');
        if (at.len > 1 && at.ptr[0] == '[' && equals == at.len) {
            size_t open = at.ptr[1] == '[' ? 2 : 1, close = outside_quotes(at, ']');
            line->table = toml_trimmed((struct slice){at.ptr + open, close > open ? close - open : 0});
            line->key = (struct slice){0};
            return true;
        }
        if (equals < at.len) {
            line->key = toml_trimmed((struct slice){at.ptr, equals});
            line->value = toml_trimmed(slice_from(at, equals + 1));
            return true;
        }
    }
    return false;
}

/* Appends the parts of a dotted key, each behind a dot and without quotes and blanks. */
static void write_key(struct buf *buf, struct slice key)
{
    while (key.len > 0) {
        size_t end = 0;
        struct slice part = key_part(key, &end);
        if (part.ptr == NULL || end == 0) {
            return;
        }
        buf_byte(buf, '.');
        buf_slice(buf, part);
        key = toml_trimmed(slice_from(key, end));
        if (key.len > 0 && key.ptr[0] == '.') {
            key = toml_trimmed(slice_from(key, 1));
        }
    }
}

static bool ends_with(struct slice text, const char *end)
{
    size_t len = strlen(end);
    return text.len > len && text.ptr[text.len - len - 1] == '.' &&
           memcmp(text.ptr + text.len - len, end, len) == 0;
}

/* Whether an inline table, or a value, that stands under the key in `name` sets the wanted key. */
static bool value_sets(struct buf *name, struct slice value, const char *wanted, const char *off)
{
    size_t before = name->len;
    if (value.len == 0 || value.ptr[0] != '{') {
        return ends_with(buf_slice_of(name), wanted) && slice_is(value, off);
    }
    struct slice rest = slice_from(value, 1);
    while (rest.len > 0) {
        size_t end = outside_quotes(rest, ','), close = outside_quotes(rest, '}');
        struct slice pair = {rest.ptr, end < close ? end : close};
        size_t equals = outside_quotes(pair, '=');
        if (equals == pair.len) {
            return false;
        }
        write_key(name, toml_trimmed((struct slice){pair.ptr, equals}));
        bool sets = buf_ok(name) && ends_with(buf_slice_of(name), wanted) &&
                    slice_is(toml_trimmed(slice_from(pair, equals + 1)), off);
        if (sets || !buf_ok(name) || end >= close) {
            return sets;
        }
        name->len = before;
        rest = toml_trimmed(slice_from(rest, end + 1));
    }
    return false;
}

bool toml_sets(const struct toml_line *line, const char *name, const char *value)
{
    struct buf full;
    if (line->key.ptr == NULL) {
        return false;
    }
    buf_init(&full, 64u << 10);
    write_key(&full, line->table);
    write_key(&full, line->key);
    bool sets = buf_ok(&full) && value_sets(&full, line->value, name, value);
    buf_finish(&full);
    return sets;
}
