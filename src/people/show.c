/* The layout of an input: a walk over its values, a line for each. */
#include "people/show.h"

#include <string.h>

#include "base/utf8.h"
#include "people/show_internal.h"

#define LINE_BYTES ((size_t)256 << 20) /* a text of 16 MiB, every byte of it spelt out */
#define INDENT     2u

/* Names under which tools take the two texts of an edit. */
static const char *const edits[][2] = {
    {"old_string", "new_string"}, {"oldText", "newText"}, {"old_str", "new_str"},
    {"old_text", "new_text"},     {"old", "new"},         {"oldString", "newString"},
    {"search", "replace"},
};

struct layout {
    const struct json_doc *doc;
    const struct show_lines *lines;
    struct buf line;
};

void show_begin(struct buf *line, unsigned indent)
{
    buf_reset(line);
    for (unsigned i = 0; i < indent; i++) {
        buf_byte(line, ' ');
    }
}

bool show_end(struct buf *line, enum show_kind kind, const struct show_lines *lines)
{
    if (!buf_ok(line)) {
        return false;
    }
    lines->line(lines->context, kind, buf_slice_of(line));
    return true;
}

struct slice show_next_line(struct slice *rest)
{
    const char *end = rest->len > 0 ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = end != NULL ? (size_t)(end - rest->ptr) : rest->len;
    struct slice line = {rest->ptr, len};
    *rest = slice_from(*rest, end != NULL ? len + 1 : len);
    return line;
}

static bool lay_out(struct layout *l, const struct json_value *v, unsigned indent);

/* A text that is short and of one line stands behind its name; another one below it, line by line. */
static bool lay_out_text(struct layout *l, struct slice text, unsigned indent)
{
    if (memchr(text.ptr, '\n', text.len) == NULL) {
        utf8_append_printable(&l->line, text);
        return show_end(&l->line, SHOW_NAME, l->lines);
    }
    buf_text(&l->line, "|");
    bool ok = show_end(&l->line, SHOW_NAME, l->lines);
    bool ends = text.ptr[text.len - 1] == '\n';
    while (ok && text.len > 0) {
        show_begin(&l->line, indent + INDENT);
        utf8_append_printable(&l->line, show_next_line(&text));
        ok = show_end(&l->line, SHOW_PLAIN, l->lines);
    }
    if (ok && !ends) {
        show_begin(&l->line, indent + INDENT);
        buf_text(&l->line, "(no line end)");
        ok = show_end(&l->line, SHOW_NOTE, l->lines);
    }
    return ok;
}

static bool is_container(const struct json_value *v)
{
    return (v->type == JSON_ARRAY || v->type == JSON_OBJECT) && v->count > 0;
}

static bool lay_out_value(struct layout *l, const struct json_value *v, unsigned indent)
{
    if (is_container(v)) {
        return show_end(&l->line, SHOW_NAME, l->lines) && lay_out(l, v, indent + INDENT);
    }
    if (v->type == JSON_STRING && v->str_len > 0) {
        return lay_out_text(l, json_str(v), indent);
    }
    utf8_append_printable(&l->line, v->type == JSON_STRING ? SLICE("\"\"") : json_text_of(l->doc, v));
    return show_end(&l->line, SHOW_NAME, l->lines);
}

/* ---- Edits ---- */

struct edit {
    const struct json_value *old_key, *new_key;
};

static struct edit find_edit(const struct layout *l, const struct json_value *object)
{
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        const struct json_value *old_text = json_get(l->doc, object, edits[i][0]);
        const struct json_value *new_text = json_get(l->doc, object, edits[i][1]);
        if (json_is(old_text, JSON_STRING) && json_is(new_text, JSON_STRING)) {
            return (struct edit){old_text - 1, new_text - 1};
        }
    }
    return (struct edit){NULL, NULL};
}

static bool lay_out_edit(struct layout *l, const struct edit *edit, unsigned indent)
{
    show_begin(&l->line, indent);
    utf8_append_printable(&l->line, json_str(edit->old_key));
    buf_text(&l->line, " -> ");
    utf8_append_printable(&l->line, json_str(edit->new_key));
    buf_text(&l->line, ":");
    return show_end(&l->line, SHOW_NAME, l->lines) &&
           show_difference(json_str(json_member_value(edit->old_key)),
                           json_str(json_member_value(edit->new_key)), indent + INDENT, l->lines);
}

static bool lay_out(struct layout *l, const struct json_value *v, unsigned indent)
{
    bool object = v->type == JSON_OBJECT, ok = true;
    struct edit edit = object ? find_edit(l, v) : (struct edit){NULL, NULL};
    size_t number = 0;
    for (const struct json_value *e = json_first(l->doc, v); ok && e != NULL; e = json_right(l->doc, v, e)) {
        if (e == edit.new_key && edit.old_key != NULL) {
            continue;
        }
        if (e == edit.old_key && edit.old_key != NULL) {
            ok = lay_out_edit(l, &edit, indent);
            continue;
        }
        show_begin(&l->line, indent);
        if (object) {
            utf8_append_printable(&l->line, json_str(e));
            buf_text(&l->line, ": ");
        } else {
            buf_printf(&l->line, "%zu. ", ++number);
        }
        const struct json_value *value = object ? json_member_value(e) : e;
        ok = lay_out_value(l, value, indent);
        if (ok && object && value->type == JSON_STRING && show_is_command_name(json_str(e))) {
            ok = show_command(json_str(value), &l->line, indent + INDENT, l->lines);
        }
    }
    return ok;
}

bool show_input(struct slice json, const struct show_lines *lines)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = UINT32_MAX};
    struct layout l = {.doc = &doc, .lines = lines};
    buf_init(&l.line, LINE_BYTES);
    json_init(&doc);
    bool ok = json_parse(&doc, json, &options, &error);
    if (ok) {
        const struct json_value *root = json_root(&doc);
        show_begin(&l.line, 0);
        ok = is_container(root) ? lay_out(&l, root, 0) : lay_out_value(&l, root, 0);
    }
    json_finish(&doc);
    buf_finish(&l.line);
    return ok;
}

struct into {
    struct buf *buf;
    unsigned indent;
};

static void append_line(void *context, enum show_kind kind, struct slice text)
{
    const struct into *into = context;
    (void)kind;
    for (unsigned i = 0; i < into->indent; i++) {
        buf_byte(into->buf, ' ');
    }
    buf_slice(into->buf, text);
    buf_byte(into->buf, '\n');
}

bool show_input_text(struct buf *buf, struct slice json, unsigned indent)
{
    struct into into = {buf, indent};
    const struct show_lines lines = {append_line, &into};
    return show_input(json, &lines) && buf_ok(buf);
}
