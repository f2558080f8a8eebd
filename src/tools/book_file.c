/* The file of a book: its name, reading it, and writing it whole. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/internal.h"

#define DIRECTORY "/tools/"
#define ENDING    ".json"

/* ---- Names ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* STATE/tools/KEY.json; bytes that have no place in a file's name stand as %XX. */
static char *path_of(const char *state_dir, struct slice key)
{
    struct buf path;
    buf_init(&path, (size_t)1 << 20);
    buf_text(&path, state_dir);
    buf_text(&path, DIRECTORY);
    for (size_t i = 0; i < key.len; i++) {
        if (is_plain(key.ptr[i])) {
            buf_byte(&path, key.ptr[i]);
        } else {
            buf_printf(&path, "%%%02X", (unsigned char)key.ptr[i]);
        }
    }
    buf_text(&path, ENDING);
    buf_byte(&path, '\0');
    if (!buf_ok(&path)) {
        buf_finish(&path);
        return NULL;
    }
    return path.ptr; /* the caller's now */
}

/* ---- Reading ---- */

static bool read_definition(const struct json_doc *doc, const struct json_value *object, const char *key,
                            struct tool_definition *definition)
{
    const struct json_value *text = json_get(doc, object, key);
    if (!json_is(text, JSON_STRING)) {
        definition_clear(definition);
        return true;
    }
    return definition_set(definition, json_str(text));
}

/* Takes one tool of the file. With `accepted_only`, the book's own lists stay what they are. */
static bool read_tool(struct tool_book *book, const struct json_doc *doc, const struct json_value *object,
                      bool accepted_only)
{
    const struct json_value *name = json_get(doc, object, "name");
    if (!json_is(name, JSON_STRING)) {
        return false;
    }
    struct tool *tool = book_find(book, json_str(name));
    if (tool == NULL) {
        tool = book_add(book, json_str(name));
        accepted_only = false;
    }
    if (tool == NULL || !read_definition(doc, object, "accepted", &tool->accepted)) {
        return false;
    }
    if (accepted_only) {
        return true;
    }
    tool->offered = json_is(json_get(doc, object, "offered"), JSON_TRUE);
    return read_definition(doc, object, "seen", &tool->seen);
}

static bool read_text(struct tool_book *book, struct slice text, bool accepted_only)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 8, .max_bytes = BOOK_BYTES};
    json_init(&doc);
    bool ok = json_parse(&doc, text, &options, &error);
    const struct json_value *tools = ok ? json_get(&doc, json_root(&doc), "tools") : NULL;
    ok = json_is(tools, JSON_ARRAY);
    for (const struct json_value *v = ok ? json_first(&doc, tools) : NULL; v != NULL && ok;
         v = json_right(&doc, tools, v)) {
        ok = read_tool(book, &doc, v, accepted_only);
    }
    book_sort(book);
    json_finish(&doc);
    return ok;
}

static bool read_file(struct tool_book *book, bool accepted_only, struct buf *ret_error)
{
    struct text_file file;
    if (!text_file_read(&file, book->path, BOOK_BYTES, ret_error)) {
        return false;
    }
    bool ok = !file.existed || read_text(book, buf_slice_of(&file.text), accepted_only);
    if (!ok) {
        buf_printf(ret_error, "'%s' is no list of tools, or there is no memory for it", book->path);
    }
    book->fresh = book->fresh && !file.existed;
    book->st = file.st;
    text_file_finish(&file);
    return ok;
}

struct tool_book *tool_book_open(const char *state_dir, struct slice key, struct buf *ret_error)
{
    struct tool_book *book = calloc(1, sizeof(*book));
    if (book == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    json_init(&book->doc);
    book->fresh = true;
    book->path = path_of(state_dir, key);
    book->key = malloc(key.len + 1);
    if (book->path == NULL || book->key == NULL) {
        buf_text(ret_error, "no memory");
        tool_book_close(book);
        return NULL;
    }
    memcpy(book->key, key.ptr, key.len);
    book->key[key.len] = '\0';
    if (!read_file(book, false, ret_error)) {
        tool_book_close(book);
        return NULL;
    }
    return book;
}

void tool_book_close(struct tool_book *book)
{
    if (book == NULL) {
        return;
    }
    while (book->count > 0) {
        book_remove(book, &book->tools[book->count - 1]);
    }
    free(book->tools);
    free(book->path);
    free(book->key);
    json_finish(&book->doc);
    free(book);
}

bool tool_book_refresh(struct tool_book *book, struct buf *ret_error)
{
    struct stat st;
    if (stat(book->path, &st) != 0 ||
        (st.st_ino == book->st.st_ino && st.st_mtim.tv_sec == book->st.st_mtim.tv_sec &&
         st.st_mtim.tv_nsec == book->st.st_mtim.tv_nsec)) {
        return true;
    }
    return read_file(book, true, ret_error);
}

/* ---- Writing ---- */

static void write_text(struct buf *json, const char *name, const struct tool_definition *definition)
{
    if (definition->text != NULL) {
        buf_printf(json, ",\"%s\":", name);
        json_write_string(json, (struct slice){definition->text, definition->len});
    }
}

static void write_book(struct buf *json, const struct tool_book *book)
{
    buf_text(json, "{\"version\":1,\"server\":");
    json_write_bytes(json, slice_of(book->key));
    buf_text(json, ",\"tools\":[");
    for (size_t i = 0; i < book->count; i++) {
        const struct tool *tool = &book->tools[i];
        buf_text(json, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
        json_write_string(json, (struct slice){tool->name, tool->name_len});
        buf_text(json, tool->offered ? ",\"offered\":true" : ",\"offered\":false");
        write_text(json, "seen", &tool->seen);
        write_text(json, "accepted", &tool->accepted);
        buf_byte(json, '}');
    }
    buf_text(json, "\n]}\n");
}

bool tool_book_save(struct tool_book *book, struct buf *ret_error)
{
    struct buf json;
    struct text_file file;
    if (!text_file_read(&file, book->path, BOOK_BYTES, ret_error)) {
        return false;
    }
    buf_init(&json, BOOK_BYTES);
    write_book(&json, book);
    bool ok = buf_ok(&json) && text_file_replace(&file, buf_slice_of(&json), 0600, ret_error);
    if (!buf_ok(&json)) {
        buf_text(ret_error, "the list of tools is too long, or there is no memory for it");
    }
    book->fresh = false;
    if (ok) {
        (void)!stat(book->path, &book->st);
    }
    buf_finish(&json);
    text_file_finish(&file);
    return ok;
}

bool tool_book_forget(struct tool_book *book, struct buf *ret_error)
{
    struct text_file file;
    if (!text_file_read(&file, book->path, BOOK_BYTES, ret_error)) {
        return false;
    }
    bool ok = !file.existed || text_file_remove(&file, ret_error);
    text_file_finish(&file);
    return ok;
}

/* ---- All books ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The key of a file's name: %XX is the byte. */
static void write_key(struct buf *keys, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned byte = 0;
        if (name[i] == '%' && len - i > 2) {
            char digits[3] = {name[i + 1], name[i + 2], '\0'};
            byte = (unsigned)strtoul(digits, NULL, 16);
            i += 2;
        } else {
            byte = (unsigned char)name[i];
        }
        buf_byte(keys, (char)byte);
    }
    buf_byte(keys, '\n');
}

static int is_book(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > strlen(ENDING) && strcmp(entry->d_name + len - strlen(ENDING), ENDING) == 0;
}

bool tool_books_list(const char *state_dir, struct buf *ret_keys, struct buf *ret_error)
{
    struct dirent **entries = NULL;
    struct buf path;
    buf_init(&path, (size_t)1 << 20);
    buf_text(&path, state_dir);
    buf_text(&path, DIRECTORY);
    buf_byte(&path, '\0');
    int count = buf_ok(&path) ? scandir(path.ptr, &entries, is_book, NULL) : -1;
    if (count < 0 && errno != ENOENT) {
        buf_printf(ret_error, "the list of servers cannot be read: %s", strerror(errno));
        buf_finish(&path);
        return false;
    }
    buf_finish(&path);
    char **names = count > 0 ? calloc((size_t)count, sizeof(*names)) : NULL;
    for (int i = 0; i < count; i++) {
        if (names != NULL) {
            names[i] = entries[i]->d_name;
        }
    }
    if (names != NULL) {
        qsort(names, (size_t)count, sizeof(*names), compare_names);
    }
    for (int i = 0; i < count && names != NULL; i++) {
        write_key(ret_keys, names[i], strlen(names[i]) - strlen(ENDING));
    }
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(names);
    free(entries);
    return count <= 0 || names != NULL;
}
