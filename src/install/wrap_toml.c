/* Servers in a configuration of TOML: the tables `[mcp_servers.NAME]` of Codex. Other forms are not read. */
#include <string.h>

#include "host/toml.h"
#include "install/mcp_entries.h"

/* A string on one line at an offset; false when none begins there. What it says is known when nothing is escaped in a
 * way that JSON does not know. */
static bool string_at(struct slice text, size_t at, struct span *ret_span)
{
    char quote = at < text.len ? text.ptr[at] : '\0';
    if (quote != '"' && quote != '\'') {
        return false;
    }
    for (size_t end = at + 1; end < text.len && text.ptr[end] != '\n'; end++) {
        if (text.ptr[end] == '\\' && quote == '"') {
            end++;
        } else if (text.ptr[end] == quote) {
            *ret_span = (struct span){at, end + 1};
            return end > at + 1 || end + 1 == text.len || text.ptr[end + 1] != quote; /* not `"""` */
        }
    }
    return false;
}

/* What a string's token says; one with an escape is taken as it stands, which is enough to know our own words. */
static struct slice said_by(struct server_entries *entries, struct slice text, struct span span)
{
    return arena_copy(entries->arena, (struct slice){text.ptr + span.start + 1, span.end - span.start - 2});
}

/* Where the next thing of an array begins: blanks, line ends, commas and comments are passed over. */
static size_t skip(struct slice text, size_t at)
{
    while (at < text.len) {
        char c = text.ptr[at];
        if (c == '#') {
            const char *lf = memchr(text.ptr + at, '\n', text.len - at);
            at = lf != NULL ? (size_t)(lf - text.ptr) : text.len;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',') {
            at++;
        } else {
            break;
        }
    }
    return at;
}

/* Takes an array of strings; false when it is another. */
static bool take_array(struct server_entries *entries, struct slice text, size_t start,
                       struct server_entry *entry)
{
    size_t at = skip(text, start + 1);
    entry->words = arena_array(entries->arena, WRAP_WORDS_MOST, sizeof(*entry->words));
    entry->decoded = arena_array(entries->arena, WRAP_WORDS_MOST, sizeof(*entry->decoded));
    entry->word_count = 0;
    struct span word;
    while (entry->words != NULL && entry->decoded != NULL && entry->word_count < WRAP_WORDS_MOST &&
           string_at(text, at, &word)) {
        entry->words[entry->word_count] = word;
        entry->decoded[entry->word_count++] = said_by(entries, text, word);
        at = skip(text, word.end);
    }
    if (at >= text.len || text.ptr[at] != ']') {
        return false;
    }
    entry->args = (struct span){start, at + 1};
    return true;
}

static bool finish_table(struct server_entries *entries, struct server_entry *entry, bool odd)
{
    bool ok = true;
    if (entry->name.ptr == NULL) {
        return true;
    }
    if (odd || (entry->program.len == 0 && entry->url.ptr == NULL)) {
        entries->not_read++;
    } else {
        ok = server_entries_add(entries, entry);
    }
    *entry = (struct server_entry){0};
    return ok;
}

/* One setting of a server's table. *ret_odd: its value is in a form that is not read. */
static void take_setting(struct server_entries *entries, struct slice text, const struct toml_line *line,
                         struct server_entry *entry, bool *ret_odd)
{
    size_t at = (size_t)(line->value.ptr - text.ptr);
    struct span span;
    if (slice_is(line->key, "command")) {
        *ret_odd = *ret_odd || !string_at(text, at, &span);
        if (!*ret_odd) {
            entry->command = span;
            entry->program = said_by(entries, text, span);
        }
    } else if (slice_is(line->key, "args")) {
        *ret_odd = *ret_odd || line->value.len == 0 || line->value.ptr[0] != '[' ||
                   !take_array(entries, text, at, entry);
    } else if (slice_is(line->key, "url") && string_at(text, at, &span)) {
        entry->url = said_by(entries, text, span);
    }
}

bool server_entries_toml(struct server_entries *entries, struct slice text)
{
    static const struct slice table = {"mcp_servers", 11};
    struct slice rest = text;
    struct toml_line line = {0};
    struct server_entry entry = {0};
    bool ok = true, odd = false;
    while (ok && toml_next(&rest, &line)) {
        if (line.key.ptr != NULL) {
            if (entry.name.ptr != NULL) {
                take_setting(entries, text, &line, &entry, &odd);
            } else if (slice_starts_with(line.key, table)) {
                entries->not_read++; /* a dotted key or an inline table */
            }
            continue;
        }
        ok = finish_table(entries, &entry, odd);
        odd = false;
        /* `[mcp_servers.NAME]` and not `[mcp_servers.NAME.env]`. */
        struct slice header = {line.table.ptr - 1, line.table.len + 1}, name = toml_table_name(header, table);
        const char *after = name.ptr != NULL ? name.ptr + name.len : NULL;
        const char *end = line.table.ptr + line.table.len;
        if (after != NULL && (after == end || (after + 1 == end && (*after == '"' || *after == '\'')))) {
            entry.name = arena_copy(entries->arena, name);
            ok = entry.name.ptr != NULL;
        }
    }
    return ok && finish_table(entries, &entry, odd);
}
