/* The files that a patch names. The patch's text is one opaque string to the readings; its headers are not.
 *
 * A header is a line `*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH` or `*** Move to:
 * PATH`. Appliers are lenient, so this is more so: blanks before and behind, any word before `File:`, any
 * case. */
#include "host/internal.h"

static struct slice trimmed(struct slice s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s = slice_from(s, 1);
    }
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\r')) {
        s.len--;
    }
    return s;
}

/* Where a word that ends in `:` ends in a line, whatever its case; 0: it is not there. */
static size_t behind(struct slice line, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= line.len; at++) {
        if (slice_eq_ascii_case((struct slice){line.ptr + at, len}, (struct slice){word, len})) {
            return at + len;
        }
    }
    return 0;
}

static struct slice path_of(struct slice line)
{
    line = trimmed(line);
    if (!slice_starts_with(line, SLICE("***"))) {
        return (struct slice){0};
    }
    size_t at = behind(line, "file:");
    if (at == 0) {
        at = behind(line, "move to:");
    }
    return at == 0 ? (struct slice){0} : trimmed(slice_from(line, at));
}

static size_t write_paths(struct buf *buf, struct slice patch)
{
    size_t count = 0;
    while (patch.len) {
        const char *lf = memchr(patch.ptr, '\n', patch.len);
        struct slice line = {patch.ptr, lf != NULL ? (size_t)(lf - patch.ptr) : patch.len};
        struct slice path = path_of(line);
        patch = slice_from(patch, lf != NULL ? line.len + 1 : line.len);
        if (path.len == 0) {
            continue;
        }
        buf_text(buf, count++ ? "," : "");
        json_write_string(buf, path);
    }
    return count;
}

bool message_add_patch_paths(struct host_message *message)
{
    const struct json_doc *doc = message->input_doc;
    const struct json_value *input = message->input, *key;
    struct buf *text = &message->text;
    struct slice members = slice_from(json_text_of(doc, input), 1);
    buf_reset(text);
    buf_text(text, "{\"patchPaths\":[");
    size_t count = 0;
    for (key = json_first(doc, input); key != NULL; key = json_right(doc, input, key)) {
        const struct json_value *value = json_member_value(key);
        if (value->type != JSON_STRING) {
            continue;
        }
        size_t before = text->len;
        buf_text(text, count ? "," : "");
        size_t found = write_paths(text, json_str(value));
        if (found == 0 && buf_ok(text)) {
            text->len = before;
        }
        count += found;
    }
    if (count == 0) {
        buf_text(text, "0"); /* a patch that cannot be read is a path that cannot be */
    }
    buf_text(text, input->count ? "]," : "]");
    buf_slice(text, members);
    return buf_ok(text) && message_take_input_text(message, buf_slice_of(text));
}
