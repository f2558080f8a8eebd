/* Errors of a document at their place: line, column, pointer and message. */
#include <string.h>

#include "base/utf8.h"
#include "document/load_internal.h"

/* A word that is shown in a message is cut here, in bytes. */
#define MAX_SHOWN 60u

void cursor_start(struct cursor *cursor, struct slice text)
{
    *cursor = (struct cursor){text, 0, 1, 1};
}

void cursor_move(struct cursor *cursor, uint32_t offset)
{
    uint32_t to = offset < cursor->text.len ? offset : (uint32_t)cursor->text.len;
    if (to <= cursor->offset) {
        return;
    }
    const char *at = cursor->text.ptr + cursor->offset, *end = cursor->text.ptr + to, *line_end;
    while ((line_end = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at = line_end + 1;
        cursor->line++;
        cursor->column = 1;
    }
    cursor->column += (uint32_t)utf8_count((struct slice){at, (size_t)(end - at)});
    cursor->offset = to;
}

struct buf *load_message(struct loading *loading)
{
    buf_reset(&loading->message);
    return &loading->message;
}

void message_quote(struct buf *message, struct slice text)
{
    struct slice shown = text;
    if (shown.len > MAX_SHOWN) {
        shown.len = MAX_SHOWN;
        while (shown.len > 0 && ((unsigned char)text.ptr[shown.len] & 0xc0) == 0x80) {
            shown.len--;
        }
    }
    buf_byte(message, '\'');
    utf8_append_printable(message, shown);
    buf_text(message, shown.len < text.len ? "…'" : "'");
}

static void write_pointer(struct buf *buf, const struct place *place)
{
    if (place == NULL) {
        return;
    }
    write_pointer(buf, place->up);
    buf_byte(buf, '/');
    if (place->element) {
        buf_u64(buf, place->index);
        return;
    }
    for (size_t i = 0; i < place->key.len; i++) {
        char c = place->key.ptr[i];
        if (c == '~' || c == '/') {
            buf_text(buf, c == '~' ? "~0" : "~1");
        } else {
            buf_byte(buf, c);
        }
    }
}

/* A copy in the errors' arena. */
static struct slice keep(struct loading *loading, struct slice text)
{
    struct slice copy = arena_copy(&loading->errors->arena, text);
    if (copy.ptr == NULL) {
        loading->errors->failed = true;
        copy = (struct slice){"", 0};
    }
    return copy;
}

void load_report(struct loading *loading, const char *code, uint32_t offset, const struct place *place)
{
    buf_reset(&loading->pointer);
    write_pointer(&loading->pointer, place);
    if (!buf_ok(&loading->message) || !buf_ok(&loading->pointer)) {
        loading->errors->failed = true;
        return;
    }
    struct finding *finding =
        findings_add(loading->errors, code, "%.*s", SLICE_FMT(buf_slice_of(&loading->message)));
    if (finding == NULL) {
        return;
    }
    if (loading->file_name.ptr == NULL) {
        loading->file_name = keep(loading, loading->source->name);
    }
    finding->file = loading->file;
    finding->file_name = loading->file_name;
    finding->offset = offset;
    finding->pointer = keep(loading, buf_slice_of(&loading->pointer));
    finding->rule = keep(loading, loading->rule);
}

void report_unknown_key(struct loading *loading, const struct key_table *table, const struct json_value *key,
                        const struct place *place)
{
    struct slice word = json_str(key);
    struct advice advice = schema_advise_key(table, word);
    struct buf *message = load_message(loading);
    buf_text(message, "unknown key ");
    message_quote(message, word);
    if (advice.name == NULL) {
        buf_printf(message, ": the keys of %s are ", table->what);
        schema_write_keys(message, table);
    } else if (advice.place != NULL && slice_is(word, advice.name)) {
        buf_printf(message, ": it belongs %s", advice.place);
    } else if (advice.place != NULL) {
        buf_printf(message, ": did you mean '%s', which belongs %s?", advice.name, advice.place);
    } else {
        buf_printf(message, ": did you mean '%s'?", advice.name);
    }
    load_report(loading, "unknown-key", key->offset, place);
}

void report_missing_key(struct loading *loading, const struct key *key, const struct json_value *object,
                        const struct place *up)
{
    struct place place = {.up = up, .key = slice_of(key->name)};
    buf_printf(load_message(loading), "missing key '%s': add it, %s", key->name, key->expected);
    load_report(loading, "missing-key", object->offset, &place);
}

void load_place_errors(struct loading *loading)
{
    struct findings *errors = loading->errors;
    struct cursor cursor = {0};
    findings_sort(errors);
    for (size_t i = 0; i < errors->count; i++) {
        struct finding *finding = &errors->list[i];
        if (i == 0 || finding->file != errors->list[i - 1].file) {
            cursor_start(&cursor, loading->sources[finding->file].text);
        }
        cursor_move(&cursor, finding->offset);
        finding->line = cursor.line;
        finding->column = cursor.column;
    }
}
