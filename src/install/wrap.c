/* A gate put in front of the servers of a configuration, and taken away again. */
#include "install/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/utf8.h"
#include "install/install.h"
#include "install/internal.h"
#include "install/mcp_entries.h"
#include "install/observed_internal.h"

const struct mcp_config mcp_configs[] = {
    {"claude-code", ".claude.json", false},
    {"claude-code", ".mcp.json", true},
    {"claude-desktop", ".config/Claude/claude_desktop_config.json", false},
    {"cursor", ".cursor/mcp.json", false},
    {"cursor", ".cursor/mcp.json", true},
    {"vscode", ".config/Code/User/mcp.json", false},
    {"vscode", ".vscode/mcp.json", true},
    {"gemini", ".gemini/settings.json", false},
    {"gemini", ".gemini/settings.json", true},
    {"codex", ".codex/config.toml", false},
    {"codex", ".codex/config.toml", true},
    {"opencode", ".config/opencode/opencode.json", false},
    {"opencode", ".config/opencode/opencode.jsonc", false},
    {"opencode", "opencode.json", true},
    {"opencode", "opencode.jsonc", true},
    {"windsurf", ".codeium/windsurf/mcp_config.json", false},
};
const size_t mcp_config_count = sizeof(mcp_configs) / sizeof(*mcp_configs);

bool server_entries_add(struct server_entries *entries, const struct server_entry *entry)
{
    if (entries->count == entries->cap) {
        size_t cap = entries->cap > 0 ? 2 * entries->cap : 32;
        struct server_entry *list = arena_array(entries->arena, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        if (entries->count > 0) {
            memcpy(list, entries->list, entries->count * sizeof(*list));
        }
        entries->list = list;
        entries->cap = cap;
    }
    entries->list[entries->count++] = *entry;
    return true;
}

/* ---- Edits ---- */

/* A piece of the text that gets another text. Edits are applied from the end, so that offsets stay true. */
struct edit {
    struct span where;
    size_t text, text_len; /* in the pool */
};

struct edits {
    struct edit *list;
    size_t count, cap;
    struct buf pool;
};

static bool edit(struct edits *edits, struct span where, struct slice text)
{
    if (edits->count == edits->cap || !buf_ok(&edits->pool)) {
        return false;
    }
    edits->list[edits->count++] = (struct edit){where, edits->pool.len, text.len};
    buf_slice(&edits->pool, text);
    return buf_ok(&edits->pool);
}

static int later_first(const void *a, const void *b)
{
    size_t x = ((const struct edit *)a)->where.start, y = ((const struct edit *)b)->where.start;
    return x < y ? 1 : x > y ? -1 : 0;
}

static bool apply(struct edits *edits, struct slice text, struct buf *ret_text)
{
    qsort(edits->list, edits->count, sizeof(*edits->list), later_first);
    size_t at = 0;
    for (size_t i = edits->count; i-- > 0;) {
        const struct edit *e = &edits->list[i];
        buf_bytes(ret_text, text.ptr + at, e->where.start - at);
        buf_bytes(ret_text, edits->pool.ptr + e->text, e->text_len);
        at = e->where.end;
    }
    buf_slice(ret_text, slice_from(text, at));
    return buf_ok(ret_text);
}

/* ---- One server ---- */

static struct slice token(struct slice text, struct span span)
{
    return (struct slice){text.ptr + span.start, span.end - span.start};
}

bool server_entry_is_gate(const struct server_entry *entry)
{
    size_t first = entry->command_is_list ? 1 : 0;
    const char *slash = entry->program.len > 0 ? memrchr(entry->program.ptr, '/', entry->program.len) : NULL;
    struct slice name =
        slash != NULL ? slice_from(entry->program, (size_t)(slash - entry->program.ptr) + 1) : entry->program;
    return slice_starts_with(name, SLICE("callgate")) && entry->word_count > first &&
           slice_is(entry->decoded[first], "run");
}

/* Without the arguments that an entry has: `--server=NAME` says so, and `--server NAME` that it had a list of them. */
static void write_gate_words(struct buf *buf, const struct wrap_options *options,
                             const struct server_entry *entry, size_t from, bool one_word)
{
    struct buf name;
    buf_init(&name, 1u << 20);
    for (size_t i = from; i < options->word_count; i++) {
        json_write_bytes(buf, slice_of(options->words[i]));
        buf_text(buf, ", ");
    }
    buf_text(&name, one_word ? "--server=" : "");
    buf_slice(&name, entry->name);
    if (!one_word) {
        buf_text(buf, "\"--server\", ");
    }
    json_write_bytes(buf, buf_slice_of(&name));
    buf_text(buf, ", \"--\"");
    buf->failed = buf->failed || !buf_ok(&name);
    buf_finish(&name);
}

static bool wrap_entry(const struct wrap_options *options, struct edits *edits, struct slice text, bool toml,
                       const struct server_entry *entry)
{
    struct buf words, program;
    bool has_args = entry->args.end > 0, ok;
    buf_init(&words, LIMIT_MESSAGE_BYTES);
    buf_init(&program, 1u << 20);
    if (entry->command_is_list) {
        write_gate_words(&words, options, entry, 0, false);
        buf_text(&words, ", ");
        ok = buf_ok(&words) &&
             edit(edits, (struct span){entry->args.start + 1, entry->args.start + 1}, buf_slice_of(&words));
    } else {
        json_write_bytes(&program, slice_of(options->words[0]));
        buf_text(&words, has_args ? "" : toml ? "\nargs = [" : ", \"args\": [");
        write_gate_words(&words, options, entry, 1, !has_args);
        buf_text(&words, ", ");
        buf_slice(&words, token(text, entry->command));
        buf_text(&words, !has_args ? "]" : entry->word_count > 0 ? ", " : "");
        size_t at = has_args ? entry->args.start + 1 : entry->command.end;
        ok = buf_ok(&words) && buf_ok(&program) && edit(edits, entry->command, buf_slice_of(&program)) &&
             edit(edits, (struct span){at, at}, buf_slice_of(&words));
    }
    buf_finish(&words);
    buf_finish(&program);
    return ok;
}

/* The element after which the server's own words begin; the count when there is none. */
static size_t dashes(const struct server_entry *entry)
{
    size_t i = entry->command_is_list ? 1 : 0;
    while (i < entry->word_count && !slice_is(entry->decoded[i], "--")) {
        i++;
    }
    return i;
}

static bool unwrap_entry(struct edits *edits, struct slice text, const struct server_entry *entry)
{
    static const struct slice between = {", ", 2};
    size_t last = dashes(entry) + (entry->command_is_list ? 0 : 1);
    if (last >= entry->word_count) {
        return false;
    }
    bool more = last + 1 < entry->word_count;
    size_t end = entry->words[last].end;
    if (more) {
        bool as_put_in = slice_starts_with(slice_from(text, end), between);
        end = as_put_in ? end + between.len : entry->words[last + 1].start;
    }
    struct span inserted = {entry->words[0].start, end};
    bool whole = false;
    for (size_t i = 0; i < last && !entry->command_is_list; i++) {
        whole = whole || slice_starts_with(entry->decoded[i], SLICE("--server="));
    }
    if (whole && !more && entry->args.start > entry->command.end) {
        inserted = (struct span){entry->command.end, entry->args.end};
    }
    if (!entry->command_is_list && !edit(edits, entry->command, token(text, entry->words[last]))) {
        return false;
    }
    return edit(edits, inserted, SLICE(""));
}

/* Where a word stands among those of the gate; the count when it is not there. */
static size_t gate_word(const struct server_entry *entry, const char *word)
{
    size_t end = dashes(entry);
    for (size_t i = 0; i < end; i++) {
        if (slice_is(entry->decoded[i], word)) {
            return i;
        }
    }
    return entry->word_count;
}

/* ---- A file ---- */

enum wrap_change { WRAP_PUT_IN, WRAP_TAKE_AWAY, WRAP_END_OBSERVING };

struct work {
    const struct wrap_options *options;
    struct wrap_result *result;
    struct buf *report, *error;
    struct text_file file;
    struct arena arena;
    struct server_entries entries;
    struct edits edits;
    enum wrap_change change;
    bool toml, taking_away;
};

static void tell_server(struct work *w, const char *what, const struct server_entry *entry)
{
    buf_text(w->report, what);
    buf_text(w->report, ": ");
    utf8_append_printable(w->report, entry->name);
    buf_printf(w->report, " in %s\n", w->file.path.ptr);
}

/* A server that is reached by a URL, and the words that put a gate before it. */
static void tell_url(struct work *w, const struct server_entry *entry)
{
    struct buf words, out;
    buf_init(&words, 1u << 16);
    buf_init(&out, 1u << 17);
    buf_text(&words, "callgate run --server ");
    for (size_t i = 0; i < 2; i++) {
        struct slice copy = arena_copy(&w->arena, i == 0 ? entry->name : entry->url);
        buf_text(&words, i == 0 ? "" : " -- npx -y mcp-remote ");
        write_shell_word(&words, copy.ptr != NULL ? copy.ptr : "");
    }
    tell_server(w, "not covered, it is reached by a URL", entry);
    utf8_append_printable(&out, buf_slice_of(&words));
    buf_printf(w->report, "    a bridge with a gate before it: %.*s\n", SLICE_FMT(buf_slice_of(&out)));
    w->result->by_url++;
    buf_finish(&words);
    buf_finish(&out);
}

static bool end_observing(struct work *w, const struct server_entry *entry)
{
    size_t at = server_entry_is_gate(entry) ? gate_word(entry, "--observe") : entry->word_count;
    if (at >= entry->word_count) {
        return true;
    }
    /* More words of the gate always follow it. */
    const struct span where = {entry->words[at].start, entry->words[at + 1].start};
    tell_server(w, w->options->dry_run ? "would enforce" : "enforces", entry);
    w->result->changed++;
    return edit(&w->edits, where, SLICE(""));
}

static bool tell_already(struct work *w, const struct server_entry *entry)
{
    bool observes = false;
    for (size_t i = 0; !w->taking_away && i < w->options->word_count; i++) {
        observes = observes || strcmp(w->options->words[i], "--observe") == 0;
    }
    if (!w->options->changes_only) {
        tell_server(w, w->taking_away ? "not behind a gate" : "already behind a gate", entry);
    }
    if (observes && gate_word(entry, "--observe") == entry->word_count) {
        buf_text(w->report, "    it denies and holds: unwrap it first, for one that observes\n");
    }
    w->result->already++;
    return true;
}

static bool change_entry(struct work *w, const struct server_entry *entry)
{
    struct slice text = buf_slice_of(&w->file.text);
    if (w->options->only != NULL && !slice_is(entry->name, w->options->only)) {
        return true;
    }
    if (w->change == WRAP_END_OBSERVING) {
        return end_observing(w, entry);
    }
    if (entry->program.len == 0) {
        if (!w->taking_away) {
            tell_url(w, entry);
        }
        return true;
    }
    if (server_entry_is_gate(entry) != w->taking_away) {
        return tell_already(w, entry);
    }
    if (w->taking_away ? !unwrap_entry(&w->edits, text, entry)
                       : !wrap_entry(w->options, &w->edits, text, w->toml, entry)) {
        tell_server(w, "left as it is, what the gate runs cannot be told", entry);
        w->result->not_read++;
        return buf_ok(&w->edits.pool);
    }
    tell_server(w,
                w->options->dry_run ? (w->taking_away ? "would unwrap" : "would wrap")
                                    : (w->taking_away ? "unwrapped" : "wrapped"),
                entry);
    w->result->changed++;
    return true;
}

static bool keep(struct work *w, const char *name, struct slice text)
{
    struct text_file kept;
    if (!text_file_read(&kept, name, LIMIT_MESSAGE_BYTES, w->error)) {
        return false;
    }
    bool ok = text_file_replace(&kept, text, 0600, w->error);
    text_file_finish(&kept);
    return ok;
}

/* The file as it was, in the state directory, under a name of its own; and where it is, so that `uninstall` finds it. */
static bool keep_copy(struct work *w)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1], copy[4096], place[4096];
    if (!hash_bytes(buf_slice_of(&w->file.path), hash)) {
        return false;
    }
    hash_to_hex(hash, hex);
    int len = snprintf(copy, sizeof(copy), "%s/wrap/%.16s.before", w->options->state_dir, hex);
    (void)snprintf(place, sizeof(place), "%s/wrap/%.16s.place", w->options->state_dir, hex);
    bool ok = len >= 0 && (size_t)len < sizeof(copy) && keep(w, copy, buf_slice_of(&w->file.text)) &&
              keep(w, place, buf_slice_of(&w->file.path));
    buf_printf(w->report, "the file as it was: %s\n", copy);
    return ok;
}

/* So that `callgate enforce` finds it. */
static bool note_observing(struct work *w)
{
    bool observes = false;
    for (size_t i = 0; w->change == WRAP_PUT_IN && i < w->options->word_count; i++) {
        observes = observes || strcmp(w->options->words[i], "--observe") == 0;
    }
    return !observes || observed_note(w->options->state_dir, w->file.path.ptr, NULL, w->error);
}

static bool change_file(struct work *w)
{
    struct slice text = buf_slice_of(&w->file.text);
    struct buf changed;
    size_t len = strlen(w->file.path.ptr);
    w->toml = len > 5 && strcmp(w->file.path.ptr + len - 5, ".toml") == 0;
    w->entries.arena = &w->arena;
    bool ok = w->toml ? server_entries_toml(&w->entries, text)
                      : server_entries_json(&w->entries, w->file.path.ptr, text, w->error);
    w->edits.cap = 2 * w->entries.count + 1;
    w->edits.list = ok ? arena_array(&w->arena, w->edits.cap, sizeof(*w->edits.list)) : NULL;
    ok = w->edits.list != NULL;
    for (size_t i = 0; i < w->entries.count && ok; i++) {
        ok = change_entry(w, &w->entries.list[i]);
    }
    if (w->entries.not_read > 0) {
        buf_printf(w->report,
                   "%s: %zu server(s) in a form that is not read here: put the gate before them by hand\n",
                   w->file.path.ptr, w->entries.not_read);
        w->result->not_read += w->entries.not_read;
    }
    if (!ok || w->result->changed == 0 || w->options->dry_run) {
        return ok;
    }
    buf_init(&changed, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    ok = apply(&w->edits, text, &changed) && (w->change != WRAP_PUT_IN || keep_copy(w)) &&
         note_observing(w) && text_file_replace(&w->file, buf_slice_of(&changed), 0600, w->error);
    buf_finish(&changed);
    return ok;
}

static bool change(const struct wrap_options *options, enum wrap_change what, struct wrap_result *ret_result,
                   struct buf *ret_report, struct buf *ret_error)
{
    struct work w = {.options = options,
                     .result = ret_result,
                     .report = ret_report,
                     .error = ret_error,
                     .change = what,
                     .taking_away = what == WRAP_TAKE_AWAY};
    *ret_result = (struct wrap_result){0};
    if (!text_file_read(&w.file, options->file, LIMIT_MESSAGE_BYTES, ret_error)) {
        return false;
    }
    arena_init(&w.arena, 256u << 20);
    buf_init(&w.edits.pool, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    bool ok = !w.file.existed || change_file(&w);
    buf_finish(&w.edits.pool);
    arena_finish(&w.arena);
    text_file_finish(&w.file);
    if (!ok && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    return ok;
}

bool wrap_file(const struct wrap_options *options, struct wrap_result *ret_result, struct buf *ret_report,
               struct buf *ret_error)
{
    return change(options, WRAP_PUT_IN, ret_result, ret_report, ret_error);
}

bool unwrap_file(const struct wrap_options *options, struct wrap_result *ret_result, struct buf *ret_report,
                 struct buf *ret_error)
{
    return change(options, WRAP_TAKE_AWAY, ret_result, ret_report, ret_error);
}

bool wrap_end_observing(const struct wrap_options *options, struct wrap_result *ret_result,
                        struct buf *ret_report, struct buf *ret_error)
{
    return change(options, WRAP_END_OBSERVING, ret_result, ret_report, ret_error);
}
