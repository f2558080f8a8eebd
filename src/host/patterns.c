/* Patterns of hosts that look for files with the library glob of npm, case ignored: they are told beside the input in the
 * wildcards that paths know, which find no less. */
#include <string.h>

#include "host/internal.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The length of a class `[…]` that text begins with, or 0. A `]` that comes first, and one of `[:alpha:]`, do not end it. */
static size_t class_length(struct slice text)
{
    size_t i = 1;
    i += i < text.len && (text.ptr[i] == '!' || text.ptr[i] == '^');
    i += i < text.len && text.ptr[i] == ']';
    for (bool named = false; i < text.len && text.ptr[i] != '/'; i++) {
        if (text.ptr[i] == '[' && i + 1 < text.len && text.ptr[i + 1] == ':') {
            named = true;
        } else if (text.ptr[i] == ']' && !(named && text.ptr[i - 1] == ':')) {
            return i + 1;
        } else if (text.ptr[i] == ']') {
            named = false;
        }
    }
    return 0;
}

/* The length of a group `@(…)`, `!(…)`, `+(…)`, `?(…)` or `*(…)` that text begins with, or 0. No group holds a `/`, because
 * the library cuts a pattern into its components first. */
static size_t group_length(struct slice text)
{
    size_t depth = 0;
    if (text.len < 2 || text.ptr[1] != '(' || memchr("@!+?*", text.ptr[0], 5) == NULL) {
        return 0;
    }
    for (size_t i = 1; i < text.len && text.ptr[i] != '/'; i++) {
        depth += text.ptr[i] == '(';
        depth -= text.ptr[i] == ')';
        if (depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* The length of a range `{a..e}` that text begins with, or 0. */
static size_t range_length(struct slice text)
{
    bool dots = false;
    for (size_t i = 1; text.ptr[0] == '{' && i < text.len && memchr("/,{", text.ptr[i], 3) == NULL; i++) {
        dots = dots || (text.ptr[i] == '.' && text.ptr[i - 1] == '.');
        if (text.ptr[i] == '}') {
            return dots ? i + 1 : 0;
        }
    }
    return 0;
}

/* Appends the pattern's first part and returns its length. */
static size_t write_part(struct buf *pattern, struct slice text)
{
    char c = text.ptr[0];
    size_t class = c == '[' ? class_length(text) : 0, group = group_length(text), range = range_length(text);
    if (class > 0) {
        buf_byte(pattern, '?');
        return class;
    }
    if (group > 0 || range > 0) {
        buf_byte(pattern, '*');
        return group > 0 ? group : range;
    }
    if (is_letter(c)) {
        char both[] = {'[', (char)(c | 0x20), (char)(c & ~0x20), ']'};
        buf_bytes(pattern, both, sizeof(both));
    } else if ((unsigned char)c >= 0x80) {
        buf_byte(pattern, '*'); /* a character beyond ASCII has other letters, of other lengths */
    } else {
        buf_byte(pattern, c == '\\' ? '/' : c);
    }
    return 1;
}

static void write_pattern(struct buf *text, size_t *count, const struct json_value *value)
{
    struct buf pattern;
    if (!json_is(value, JSON_STRING)) {
        return; /* what it is under its own name says the input itself */
    }
    buf_init(&pattern, (size_t)LIMIT_MESSAGE_BYTES * 4);
    for (struct slice left = json_str(value); left.len > 0;) {
        left = slice_from(left, write_part(&pattern, left));
    }
    buf_text(text, (*count)++ > 0 ? "," : "");
    json_write_string(text, buf_slice_of(&pattern));
    text->failed = text->failed || !buf_ok(&pattern);
    buf_finish(&pattern);
}

bool message_add_patterns(struct host_message *message, const char *key)
{
    const struct json_doc *doc = message->input_doc;
    const struct json_value *input = message->input, *value = json_get(doc, input, key);
    struct buf *text = &message->text;
    struct slice members = slice_from(json_text_of(doc, input), 1);
    size_t count = 0;
    buf_reset(text);
    buf_text(text, "{\"patternPaths\":[");
    if (json_is(value, JSON_ARRAY)) {
        const struct json_value *item = json_first(doc, value);
        for (; item != NULL; item = json_right(doc, value, item)) {
            write_pattern(text, &count, item);
        }
    } else {
        write_pattern(text, &count, value);
    }
    buf_text(text, input->count > 0 ? "]," : "]");
    buf_slice(text, members);
    return buf_ok(text) && message_take_input_text(message, buf_slice_of(text));
}
