/* Puts members into a host's settings and takes them out, the rest left byte for byte. */
#include "install/settings.h"

#include <string.h>

#include "host/jsonc.h"

static const struct json_options settings_options = {
    .max_depth = LIMIT_JSON_DEPTH,
    .max_bytes = LIMIT_MESSAGE_BYTES,
};

static bool in_line_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool blank(char c)
{
    return in_line_blank(c) || c == '\r' || c == '\n';
}

/* Reads the text as it is now. */
static bool look(struct settings *settings, struct json_error *ret_error)
{
    *ret_error = (struct json_error){.code = JSON_ERROR_MEMORY, .detail = "no memory"};
    settings->root = NULL;
    buf_reset(&settings->blanked);
    buf_slice(&settings->blanked, buf_slice_of(&settings->text));
    if (!buf_ok(&settings->text) || !buf_ok(&settings->blanked)) {
        return false;
    }
    jsonc_blank(settings->blanked.ptr, settings->blanked.len);
    if (!json_parse(&settings->doc, buf_slice_of(&settings->blanked), &settings_options, ret_error)) {
        return false;
    }
    settings->root = json_root(&settings->doc);
    if (settings->root->type == JSON_OBJECT) {
        return true;
    }
    *ret_error = (struct json_error){.code = JSON_ERROR_SYNTAX, .detail = "it is no JSON object"};
    return false;
}

static bool is_blank(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!blank(text.ptr[i])) {
            return false;
        }
    }
    return true;
}

bool settings_init(struct settings *settings, const char *name, struct slice text, struct buf *ret_error)
{
    struct json_error error;
    *settings = (struct settings){0};
    buf_init(&settings->text, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    buf_init(&settings->blanked, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    json_init(&settings->doc);
    buf_slice(&settings->text, is_blank(text) ? SLICE("{}\n") : text);
    if (look(settings, &error)) {
        return true;
    }
    uint32_t line = 1, column = 1;
    if (error.code != JSON_ERROR_MEMORY) {
        json_place(buf_slice_of(&settings->text), error.offset, &line, &column);
    }
    buf_printf(ret_error, "%s:%u:%u: %s; mend it first, nothing was changed", name, line, column,
               error.detail);
    settings_finish(settings);
    return false;
}

void settings_finish(struct settings *settings)
{
    buf_finish(&settings->text);
    buf_finish(&settings->blanked);
    json_finish(&settings->doc);
    *settings = (struct settings){0};
}

/* ---- How the text is laid out ---- */

struct layout {
    struct slice newline, unit;
    bool lines; /* more than one line */
};

/* The blanks between the start of a line and `at`, when nothing else stands there. */
static bool indentation(struct slice text, size_t at, struct slice *ret_indent)
{
    size_t start = at;
    while (start > 0 && text.ptr[start - 1] != '\n') {
        start--;
    }
    *ret_indent = (struct slice){text.ptr + start, 0};
    while (start + ret_indent->len < at && in_line_blank(text.ptr[start + ret_indent->len])) {
        ret_indent->len++;
    }
    return start + ret_indent->len == at;
}

static struct layout layout_of(const struct settings *settings)
{
    struct slice text = buf_slice_of(&settings->text), indent;
    const struct json_value *first = json_first(&settings->doc, settings->root);
    struct layout layout = {SLICE("\n"), SLICE("  "), true};
    if (memmem(text.ptr, text.len, "\r\n", 2) != NULL) {
        layout.newline = SLICE("\r\n");
    }
    if (first != NULL && indentation(text, first->offset, &indent) && indent.len) {
        layout.unit = indent;
    }
    const char *lf = memchr(text.ptr, '\n', text.len);
    layout.lines =
        settings->root->count == 0 || (lf != NULL && !is_blank(slice_from(text, (size_t)(lf - text.ptr))));
    return layout;
}

/* ---- Putting in ---- */

/* Longer than this, a value is spread over lines. */
#define ONE_LINE 60u

static void write_indent(struct buf *buf, const struct layout *layout, struct slice indent, unsigned level)
{
    buf_slice(buf, layout->newline);
    buf_slice(buf, indent);
    for (; level; level--) {
        buf_slice(buf, layout->unit);
    }
}

static void write_value(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                        const struct layout *layout, struct slice indent, unsigned level)
{
    bool object = value->type == JSON_OBJECT;
    if ((!object && value->type != JSON_ARRAY) || value->count == 0 || value->length <= ONE_LINE ||
        !layout->lines) {
        buf_slice(buf, json_text_of(doc, value));
        return;
    }
    const struct json_value *first = json_first(doc, value);
    buf_byte(buf, object ? '{' : '[');
    for (const struct json_value *v = first; v != NULL; v = json_right(doc, value, v)) {
        if (v != first) {
            buf_byte(buf, ',');
        }
        write_indent(buf, layout, indent, level + 1);
        if (object) {
            buf_slice(buf, json_text_of(doc, v));
            buf_text(buf, ": ");
        }
        write_value(buf, doc, object ? json_member_value(v) : v, layout, indent, level + 1);
    }
    write_indent(buf, layout, indent, level);
    buf_byte(buf, object ? '}' : ']');
}

static bool splice(struct settings *settings, size_t at, struct slice inserted)
{
    struct buf text;
    struct json_error error;
    struct slice old = buf_slice_of(&settings->text);
    buf_init(&text, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    buf_bytes(&text, old.ptr, at);
    buf_slice(&text, inserted);
    buf_slice(&text, slice_from(old, at));
    buf_finish(&settings->text);
    settings->text = text;
    return look(settings, &error);
}

/* Puts a value, compact and with its key if it is a member, in front of what a container holds. */
static bool put_in(struct settings *settings, const struct json_value *container, const char *key,
                   struct slice value, struct buf *ret_inserted)
{
    struct layout layout = layout_of(settings);
    struct slice text = buf_slice_of(&settings->text), indent;
    const struct json_value *first = json_first(&settings->doc, container);
    struct json_doc doc;
    struct json_error error;
    struct buf put;
    size_t at = container->offset + 1, before;
    bool own_line = first != NULL && indentation(text, first->offset, &indent),
         spread = first == NULL && layout.lines;
    buf_init(&put, LIMIT_MESSAGE_BYTES);
    json_init(&doc);
    bool ok = json_parse(&doc, value, &settings_options, &error);
    if (first == NULL) {
        indentation(text, container->offset, &indent); /* of its line */
    }
    unsigned level = spread ? 1 : 0;
    if (own_line || spread) {
        write_indent(&put, &layout, indent, level);
    } else if (first != NULL && in_line_blank(text.ptr[at])) {
        buf_byte(&put, ' ');
    }
    if (key != NULL) {
        json_write_string(&put, slice_of(key));
        buf_text(&put, layout.lines ? ": " : ":");
    }
    if (ok && !own_line && !spread) {
        layout.lines = false;
    }
    if (ok) {
        write_value(&put, &doc, json_root(&doc), &layout, indent, level);
    }
    buf_text(&put, first != NULL ? "," : "");
    before = container->offset;
    if (spread && memchr(text.ptr + before, '\n', container->length) == NULL) {
        write_indent(&put, &layout, indent, 0);
    }
    ok = ok && buf_ok(&put) && splice(settings, at, buf_slice_of(&put));
    buf_slice(ret_inserted, buf_slice_of(&put));
    json_finish(&doc);
    buf_finish(&put);
    return ok && buf_ok(ret_inserted);
}

/* The value of what is missing: the rest of the path around the element. */
static void write_missing(struct buf *buf, const char *const *rest, struct slice element)
{
    if (*rest == NULL) {
        buf_byte(buf, '[');
        buf_slice(buf, element);
        buf_byte(buf, ']');
        return;
    }
    buf_byte(buf, '{');
    json_write_string(buf, slice_of(*rest));
    buf_byte(buf, ':');
    write_missing(buf, rest + 1, element);
    buf_byte(buf, '}');
}

bool settings_add(struct settings *settings, const char *const *path, struct slice element,
                  struct buf *ret_inserted, struct buf *ret_error)
{
    const struct json_value *at = settings->root, *next;
    const char *last = "the document";
    for (; *path != NULL && json_is(at, JSON_OBJECT); path++, at = next) {
        next = json_get(&settings->doc, at, *path);
        if (next == NULL) {
            struct buf missing;
            buf_init(&missing, LIMIT_MESSAGE_BYTES);
            write_missing(&missing, path + 1, element);
            bool ok = buf_ok(&missing) && put_in(settings, at, *path, buf_slice_of(&missing), ret_inserted);
            buf_finish(&missing);
            if (!ok) {
                buf_text(ret_error, "no memory");
            }
            return ok;
        }
        last = *path;
    }
    if (*path != NULL || !json_is(at, JSON_ARRAY)) {
        buf_printf(ret_error, "'%s' is %s: it must be %s", last, json_type_name((enum json_type)at->type),
                   *path != NULL ? "an object" : "an array");
        return false;
    }
    if (put_in(settings, at, NULL, element, ret_inserted)) {
        return true;
    }
    buf_text(ret_error, "no memory");
    return false;
}

bool settings_add_member(struct settings *settings, const char *key, struct slice value,
                         struct buf *ret_inserted, struct buf *ret_error)
{
    if (json_get(&settings->doc, settings->root, key) != NULL ||
        put_in(settings, settings->root, key, value, ret_inserted)) {
        return true;
    }
    buf_text(ret_error, "no memory");
    return false;
}

/* ---- Taking out ---- */

/* Deletes a range; puts it back when what is left is no such document. */
static bool delete_range(struct settings *settings, size_t from, size_t to)
{
    struct buf kept;
    struct json_error error;
    struct slice text = buf_slice_of(&settings->text);
    buf_init(&kept, LIMIT_MESSAGE_BYTES);
    buf_bytes(&kept, text.ptr + from, to - from);
    if (!buf_ok(&kept)) {
        buf_finish(&kept);
        return false;
    }
    memmove(settings->text.ptr + from, settings->text.ptr + to, text.len - to);
    settings->text.len -= to - from;
    bool ok = look(settings, &error);
    if (!ok) {
        (void)!splice(settings, from, buf_slice_of(&kept));
    }
    buf_finish(&kept);
    return ok;
}

bool settings_take_out(struct settings *settings, struct slice inserted)
{
    struct slice text = buf_slice_of(&settings->text);
    const char *found = inserted.len ? memmem(text.ptr, text.len, inserted.ptr, inserted.len) : NULL;
    if (found == NULL) {
        return false;
    }
    size_t at = (size_t)(found - text.ptr);
    struct slice rest = slice_from(text, at + 1);
    if (memmem(rest.ptr, rest.len, inserted.ptr, inserted.len) != NULL) {
        return false;
    }
    return delete_range(settings, at, at + inserted.len);
}

bool settings_remove(struct settings *settings, const struct json_value *array,
                     const struct json_value *element)
{
    /* In the text without comments nothing but blanks and commas stands between elements; a trailing comma is
     * blanked there, too. */
    struct slice whole = buf_slice_of(&settings->text), text = buf_slice_of(&settings->blanked);
    size_t from = element->offset, end = from + element->length, comma = end, trailing = end;
    while (comma < text.len && blank(text.ptr[comma])) {
        comma++;
    }
    while (trailing < whole.len && blank(whole.ptr[trailing])) {
        trailing++;
    }
    bool followed = comma < text.len && text.ptr[comma] == ',';
    bool trailed = !followed && trailing < whole.len && whole.ptr[trailing] == ',';
    size_t to = followed ? comma + 1 : trailed ? trailing + 1 : end;
    /* The blanks in front go along, back to what stands there with its comments. */
    while (from > array->offset + 1 && blank(whole.ptr[from - 1])) {
        from--;
    }
    if (!followed && !trailed && from > array->offset + 1 && whole.ptr[from - 1] == ',') {
        from--;
    }
    return delete_range(settings, from, to);
}
