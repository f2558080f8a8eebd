/* The files that a patch names. The patch's text is one opaque string to the readings; its headers are not.
 *
 * A header is a line `*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH` or `*** Move to:
 * PATH`. Appliers trim lines as their language does, Unicode's white space included, so this does, too; and it is more
 * lenient than they are: any word before `File:`, any case. A line that an applier could take for a header and that is
 * not understood here makes the patch unreadable, because a newer applier may write where it says. */
#include <string.h>

#include "base/utf8.h"
#include "host/internal.h"

/* What Rust and JavaScript trim, the byte order mark included. */
static bool is_white(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000 || c == 0xfeff;
}

/* The character that begins at a byte of valid UTF-8, and its length. */
static uint32_t character_at(struct slice s, size_t at, size_t *ret_len)
{
    const unsigned char *p = (const unsigned char *)s.ptr + at;
    size_t left = s.len - at;
    if (p[0] >= 0xe0 && p[0] < 0xf0 && left >= 3) {
        *ret_len = 3;
        return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    }
    if (p[0] >= 0xc0 && p[0] < 0xe0 && left >= 2) {
        *ret_len = 2;
        return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    }
    *ret_len = 1;
    return p[0] < 0x80 ? p[0] : 0; /* others are no white space */
}

static struct slice trimmed(struct slice s)
{
    size_t len;
    while (s.len > 0 && is_white(character_at(s, 0, &len))) {
        s = slice_from(s, len);
    }
    while (s.len > 0) {
        size_t at = s.len - 1;
        while (at > 0 && ((unsigned char)s.ptr[at] & 0xc0u) == 0x80u) {
            at--;
        }
        if (!is_white(character_at(s, at, &len))) {
            break;
        }
        s.len = at;
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

enum patch_line {
    LINE_OTHER,
    LINE_HEADER, /* names a file */
    LINE_STRANGE,
};

/* Lines with stars that name no file. */
static bool is_marker(struct slice line)
{
    static const char *const markers[] = {"*** Begin Patch", "*** End Patch", "*** End of File"};
    for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++) {
        if (slice_is(line, markers[i])) {
            return true;
        }
    }
    return slice_starts_with(line, SLICE("*** Environment ID:"));
}

/* A line of the patch. ret_path: what the header names, blanks at its ends included but the one that the applier takes
 * away. */
static enum patch_line read_line(struct slice raw, struct slice *ret_path)
{
    struct slice line = trimmed(raw);
    if (!slice_starts_with(line, SLICE("***"))) {
        return LINE_OTHER;
    }
    size_t at = behind(line, "file:");
    if (at == 0) {
        at = behind(line, "move to:");
    }
    struct slice path = at > 0 ? slice_from(line, at) : (struct slice){0};
    if (trimmed(path).len > 0) {
        *ret_path = path.ptr[0] == ' ' ? slice_from(path, 1) : path;
        return LINE_HEADER;
    }
    /* A blank before the stars makes it a line of a file that is changed. */
    return raw.ptr[0] == ' ' || is_marker(line) ? LINE_OTHER : LINE_STRANGE;
}

static void write_path(struct buf *buf, size_t *count, struct slice path)
{
    buf_text(buf, (*count)++ > 0 ? "," : "");
    json_write_string(buf, path);
}

/* Appends the paths of a text, or a number, which is a path that cannot be resolved. Returns how many. */
static size_t write_paths(struct buf *buf, struct slice patch)
{
    size_t count = 0;
    bool strange = false;
    while (patch.len > 0) {
        const char *lf = memchr(patch.ptr, '\n', patch.len);
        struct slice line = {patch.ptr, lf != NULL ? (size_t)(lf - patch.ptr) : patch.len}, path;
        patch = slice_from(patch, lf != NULL ? line.len + 1 : line.len);
        if (line.len == 0) {
            continue;
        }
        enum patch_line kind = read_line(line, &path);
        strange = strange || kind == LINE_STRANGE;
        if (kind == LINE_HEADER) {
            write_path(buf, &count, trimmed(path));
            if (trimmed(path).len != path.len) {
                write_path(buf, &count, path);
            }
        }
    }
    if (strange) {
        buf_text(buf, count++ > 0 ? ",0" : "0");
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
