/* The tools of a book in memory: finding, adding, lists of the server, accepting. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tools/internal.h"

/* Tools that were added since the last sorting are looked through one by one. */
#define UNSORTED_MOST 256u

/* ---- Definitions ---- */

void definition_clear(struct tool_definition *definition)
{
    free(definition->text);
    *definition = (struct tool_definition){0};
}

bool definition_set(struct tool_definition *definition, struct slice text)
{
    uint8_t hash[HASH_SIZE];
    char *copy = malloc(text.len + 1);
    if (copy == NULL || !hash_bytes(text, hash)) {
        free(copy);
        return false;
    }
    memcpy(copy, text.ptr, text.len);
    definition_clear(definition);
    definition->text = copy;
    definition->len = text.len;
    hash_to_hex(hash, definition->digest);
    return true;
}

static bool same_definition(const struct tool_definition *a, const struct tool_definition *b)
{
    return (a->text == NULL) == (b->text == NULL) && memcmp(a->digest, b->digest, sizeof(a->digest)) == 0;
}

/* ---- The tools ---- */

static struct slice name_of(const struct tool *tool)
{
    return (struct slice){tool->name, tool->name_len};
}

static int compare(const void *a, const void *b)
{
    return slice_cmp(name_of(a), name_of(b));
}

void book_sort(struct tool_book *book)
{
    if (book->sorted < book->count) {
        qsort(book->tools, book->count, sizeof(*book->tools), compare);
        book->sorted = book->count;
    }
}

struct tool *book_find(const struct tool_book *book, struct slice name)
{
    size_t low = 0, high = book->sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slice_cmp(name, name_of(&book->tools[middle]));
        if (order == 0) {
            return &book->tools[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

struct tool *book_add(struct tool_book *book, struct slice name)
{
    struct tool *tools = array_grow(book->tools, &book->cap, book->count + 1, sizeof(*tools));
    if (tools == NULL) {
        return NULL;
    }
    book->tools = tools;
    char *copy = malloc(name.len + 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, name.ptr, name.len);
    struct tool *tool = &book->tools[book->count++];
    *tool = (struct tool){.name = copy, .name_len = name.len};
    return tool;
}

void book_remove(struct tool_book *book, struct tool *tool)
{
    free(tool->name);
    definition_clear(&tool->seen);
    definition_clear(&tool->accepted);
    size_t at = (size_t)(tool - book->tools);
    memmove(tool, tool + 1, (book->count - at - 1) * sizeof(*tool));
    book->count--;
    book->sorted = book->count;
}

const struct tool *tool_book_tools(const struct tool_book *book, size_t *ret_count)
{
    *ret_count = book->count;
    return book->tools;
}

const struct tool *tool_book_find(const struct tool_book *book, struct slice name)
{
    return book_find(book, name);
}

enum tool_state tool_state(const struct tool *tool)
{
    if (tool == NULL) {
        return TOOL_UNKNOWN;
    }
    if (!tool->offered) {
        return tool->accepted.text != NULL ? TOOL_GONE : TOOL_UNKNOWN;
    }
    if (tool->accepted.text == NULL) {
        return TOOL_NEW;
    }
    return tool_is_as_accepted(tool) ? TOOL_ACCEPTED : TOOL_CHANGED;
}

const char *tool_state_name(enum tool_state state)
{
    static const char *const names[] = {"unknown", "new", "changed", "gone", "accepted"};
    return names[state];
}

bool tool_book_is_fresh(const struct tool_book *book)
{
    return book->fresh;
}

/* ---- A list of the server ---- */

void tool_book_begin_list(struct tool_book *book)
{
    book->list++;
}

/* The definition of a tool: its members but icons and `_meta`, sorted. */
static void write_definition(struct buf *text, struct json_doc *doc, const struct json_doc *from,
                             const struct json_value *tool)
{
    struct buf bare;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = UINT32_MAX};
    char before = '{';
    buf_init(&bare, BOOK_BYTES);
    for (const struct json_value *key = json_first(from, tool); key != NULL;
         key = json_right(from, tool, key)) {
        if (slice_is(json_str(key), "_meta") || slice_is(json_str(key), "icons")) {
            continue;
        }
        buf_byte(&bare, before);
        buf_slice(&bare, json_text_of(from, key));
        buf_byte(&bare, ':');
        buf_slice(&bare, json_text_of(from, json_member_value(key)));
        before = ',';
    }
    buf_text(&bare, before == '{' ? "{}" : "}");
    if (buf_ok(&bare) && json_parse(doc, buf_slice_of(&bare), &options, &error)) {
        json_write_canonical(text, doc, json_root(doc), JSON_NUMBER_CALL);
    } else {
        buf_slice(text, buf_slice_of(
                            &bare)); /* keys that repeat: as it is written, so that it is some definition */
    }
    buf_finish(&bare);
}

static bool take_definition(struct tool_book *book, struct tool *tool, struct slice text)
{
    if (tool->listed != book->list) {
        struct slice before = {tool->seen.text, tool->seen.len};
        tool->listed = book->list;
        tool->news = tool->seen.text == NULL || !slice_eq(before, text);
        return !tool->news || definition_set(&tool->seen, text);
    }
    /* Named twice in one list: which of the two a client calls is open, so both are its definition. */
    struct buf both;
    buf_init(&both, BOOK_BYTES);
    buf_slice(&both, (struct slice){tool->seen.text, tool->seen.len});
    buf_byte(&both, ' ');
    buf_slice(&both, text);
    bool same = slice_eq(text, (struct slice){tool->seen.text, tool->seen.len});
    bool ok = same || (buf_ok(&both) && definition_set(&tool->seen, buf_slice_of(&both)));
    tool->news = tool->news || !same;
    buf_finish(&both);
    return ok;
}

bool tool_book_add_page(struct tool_book *book, const struct json_doc *doc, const struct json_value *tools)
{
    bool ok = true;
    struct buf text;
    buf_init(&text, BOOK_BYTES);
    for (const struct json_value *v = json_first(doc, tools); v != NULL && ok;
         v = json_right(doc, tools, v)) {
        const struct json_value *name = json_get(doc, v, "name");
        if (!json_is(name, JSON_STRING)) {
            ok = false;
            break;
        }
        if (book->count - book->sorted >= UNSORTED_MOST) {
            book_sort(book);
        }
        struct tool *tool = book_find(book, json_str(name));
        for (size_t i = book->sorted; tool == NULL && i < book->count; i++) {
            tool = slice_eq(name_of(&book->tools[i]), json_str(name)) ? &book->tools[i] : NULL;
        }
        tool = tool != NULL ? tool : book_add(book, json_str(name));
        buf_reset(&text);
        if (tool != NULL) {
            write_definition(&text, &book->doc, doc, v);
        }
        ok = tool != NULL && buf_ok(&text) && take_definition(book, tool, buf_slice_of(&text));
    }
    book_sort(book);
    buf_finish(&text);
    return ok;
}

bool tool_book_end_list(struct tool_book *book)
{
    bool changed = false;
    for (size_t i = 0; i < book->count; i++) {
        struct tool *tool = &book->tools[i];
        bool offered = tool->listed == book->list;
        changed = changed || offered != tool->offered || (offered && tool->news);
        tool->offered = offered;
    }
    return changed;
}

bool tool_is_as_accepted(const struct tool *tool)
{
    return tool != NULL && tool->accepted.text != NULL && same_definition(&tool->seen, &tool->accepted);
}

/* ---- Accepting ---- */

static bool accept(struct tool *tool)
{
    return tool->seen.text != NULL &&
           definition_set(&tool->accepted, (struct slice){tool->seen.text, tool->seen.len});
}

bool tool_book_accept(struct tool_book *book, struct slice name)
{
    struct tool *tool = book_find(book, name);
    return tool != NULL && tool->offered && accept(tool);
}

void tool_book_accept_all(struct tool_book *book)
{
    for (size_t i = book->count; i > 0; i--) {
        struct tool *tool = &book->tools[i - 1];
        if (!tool->offered) {
            book_remove(book, tool);
        } else {
            (void)!accept(tool); /* without memory it stays what it was: not accepted */
        }
    }
}

bool tool_book_hide(struct tool_book *book, struct slice name, bool hidden)
{
    struct tool *tool = book_find(book, name);
    if (tool == NULL || tool->hidden == hidden) {
        return false;
    }
    tool->hidden = hidden;
    return true;
}
