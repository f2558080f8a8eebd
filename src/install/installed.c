/* Our hook in the settings of a host: what it looks like, where it is. */
#include <string.h>

#include "install/internal.h"

/* ---- Command lines ---- */

/* Whether a character in a command line, after `quote` or none, may be more to some shell than part of a
 * word. A backslash between double quotes stays there before most characters; here it is taken away. */
static bool is_odd(char c, char quote)
{
    return strchr(quote == 0 ? "{}" : quote == '"' ? "$`\\!" : "", c) != NULL;
}

/* Takes one word off a line into `to`; false at the end, or where a shell would do more than read words.
 * Clears *plain when shells may read the word in another way. */
static bool next_word(struct slice *line, struct buf *to, bool *plain)
{
    size_t at = 0;
    bool any = false;
    while (at < line->len && strchr(" \t\n", line->ptr[at]) != NULL && line->ptr[at]) {
        at++;
    }
    for (char quote = 0; at < line->len; at++) {
        char c = line->ptr[at];
        if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
            break;
        }
        if (quote == 0 && strchr(";&|<>()$`*?[#~!", c) != NULL) {
            return false;
        }
        *plain = *plain && !is_odd(c, quote);
        any = true;
        if (c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'' && at + 1 < line->len) {
            buf_byte(to, line->ptr[++at]);
        } else {
            buf_byte(to, c);
        }
    }
    *line = slice_from(*line, at);
    return any;
}

char **split_words(struct arena *arena, struct slice line, size_t *ret_count, bool *ret_plain)
{
    /* A word takes two bytes of the line at least. */
    char **words = arena_array(arena, line.len / 2 + 2, sizeof(*words));
    struct buf word;
    size_t count = 0;
    bool plain = line.len == 0 || memchr(line.ptr, '\n', line.len) == NULL;
    buf_init(&word, LIMIT_MESSAGE_BYTES);
    while (words != NULL && next_word(&line, &word, &plain)) {
        struct slice copy = buf_ok(&word) ? arena_copy(arena, buf_slice_of(&word)) : (struct slice){0};
        if (copy.ptr == NULL) {
            words = NULL;
        } else {
            words[count++] = (char *)copy.ptr;
        }
        buf_reset(&word);
    }
    buf_finish(&word);
    *ret_count = count;
    *ret_plain = plain && line.len == 0;
    return words;
}

/* The words of an entry: its command, split when a shell runs it, and its arguments. */
static char **words_of(struct arena *arena, const struct json_doc *doc, const struct json_value *entry,
                       size_t *ret_count, bool *ret_plain)
{
    const struct json_value *command = json_get(doc, entry, "command"), *args = json_get(doc, entry, "args"),
                            *arg;
    *ret_count = 0;
    *ret_plain = true;
    if (!json_is(command, JSON_STRING)) {
        return NULL;
    }
    if (!json_is(args, JSON_ARRAY)) {
        return split_words(arena, json_str(command), ret_count, ret_plain);
    }
    char **words = arena_array(arena, (size_t)args->count + 2, sizeof(*words));
    if (words == NULL) {
        return NULL;
    }
    words[(*ret_count)++] = (char *)arena_copy(arena, json_str(command)).ptr;
    for (arg = json_first(doc, args); arg != NULL; arg = json_right(doc, args, arg)) {
        words[(*ret_count)++] =
            (char *)arena_copy(arena, json_is(arg, JSON_STRING) ? json_str(arg) : SLICE("")).ptr;
    }
    for (size_t i = 0; i < *ret_count; i++) {
        if (words[i] == NULL) {
            return NULL;
        }
    }
    return words;
}

static bool words_are_ours(char *const *words, size_t count, const struct host *host)
{
    if (count < 3) {
        return false;
    }
    const char *slash = strrchr(words[0], '/'), *name = slash != NULL ? slash + 1 : words[0];
    return strncmp(name, "callgate", 8) == 0 && strcmp(words[1], "hook") == 0 &&
           strcmp(words[2], host->name) == 0;
}

bool is_ours(const struct json_doc *doc, const struct json_value *entry, const struct host *host)
{
    struct arena arena;
    size_t count = 0;
    bool plain;
    arena_init(&arena, LIMIT_MESSAGE_BYTES);
    char **words = words_of(&arena, doc, entry, &count, &plain);
    bool ours = words != NULL && words_are_ours(words, count, host);
    arena_finish(&arena);
    return ours;
}

/* ---- Finding ---- */

struct finding_hooks {
    const struct install_place *place;
    const struct json_doc *doc;
    struct arena *arena;
    struct installed_hook *list;
    size_t count, cap;
};

static bool is_closed(const struct host_settings *shape, const struct json_doc *doc,
                      const struct json_value *entry)
{
    const struct json_value *value =
        shape->fail_closed != NULL ? json_get(doc, entry, shape->fail_closed) : NULL;
    return value != NULL && slice_is(json_text_of(doc, value), shape->fail_closed_value);
}

static bool add(struct finding_hooks *f, const struct host_event *event, const struct json_value *group,
                const struct json_value *entry)
{
    const struct host_settings *shape = f->place->host->shape;
    const struct json_value *timeout = json_get(f->doc, entry, "timeout"),
                            *matcher = json_get(f->doc, group, "matcher");
    size_t count = 0;
    int64_t time = 0;
    bool plain;
    char **words = words_of(f->arena, f->doc, entry, &count, &plain);
    if (words == NULL || !words_are_ours(words, count, f->place->host)) {
        return true;
    }
    if (f->count == f->cap) {
        return false;
    }
    if (!json_is(timeout, JSON_NUMBER) || json_number_int(json_str(timeout), &time) != JSON_INT_OK ||
        time < 0 || time > INT32_MAX) {
        time = 0;
    }
    const struct json_value *command = json_get(f->doc, entry, "command");
    bool shell = !json_is(json_get(f->doc, entry, "args"), JSON_ARRAY);
    const char *line = shell ? arena_copy(f->arena, json_str(command)).ptr : NULL;
    if (shell && line == NULL) {
        return false;
    }
    f->list[f->count++] = (struct installed_hook){
        .event = event,
        .line = line,
        .words = words,
        .word_count = count,
        .plain = plain,
        .timeout_ms = time * shape->timeout_unit_ms,
        .fail_closed = is_closed(shape, f->doc, entry),
        .every_tool = matcher == NULL || (json_is(matcher, JSON_STRING) &&
                                          (matcher->str_len == 0 || slice_is(json_str(matcher), "*"))),
    };
    return true;
}

static bool find_in_event(struct finding_hooks *f, const struct host_event *event,
                          const struct json_value *list)
{
    const struct json_value *v, *entry, *inner;
    for (v = json_is(list, JSON_ARRAY) ? json_first(f->doc, list) : NULL; v != NULL;
         v = json_right(f->doc, list, v)) {
        if (!f->place->host->shape->groups) {
            if (!add(f, event, v, v)) {
                return false;
            }
            continue;
        }
        inner = json_get(f->doc, v, "hooks");
        for (entry = json_is(inner, JSON_ARRAY) ? json_first(f->doc, inner) : NULL; entry != NULL;
             entry = json_right(f->doc, inner, entry)) {
            if (!add(f, event, v, entry)) {
                return false;
            }
        }
    }
    return true;
}

static bool find_in_plugin(struct finding_hooks *f, struct slice text)
{
    static const struct slice before = {"const COMMAND = ", 16};
    const char *at = is_plugin(text) ? memmem(text.ptr, text.len, before.ptr, before.len) : NULL;
    if (at == NULL) {
        return true;
    }
    struct slice rest = slice_from(text, (size_t)(at - text.ptr) + before.len);
    const char *lf = memchr(rest.ptr, '\n', rest.len);
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = 2, .max_bytes = LIMIT_MESSAGE_BYTES};
    json_init(&doc);
    if (lf != NULL && json_parse(&doc, (struct slice){rest.ptr, (size_t)(lf - rest.ptr)}, &options, &error) &&
        json_is(json_root(&doc), JSON_ARRAY)) {
        const struct json_value *list = json_root(&doc), *v;
        char **words = arena_array(f->arena, (size_t)list->count + 1, sizeof(*words));
        size_t count = 0;
        for (v = json_first(&doc, list); v != NULL && words != NULL; v = json_right(&doc, list, v)) {
            words[count++] = (char *)arena_copy(f->arena, json_str(v)).ptr;
        }
        if (words != NULL && words_are_ours(words, count, f->place->host)) {
            f->list[f->count++] = (struct installed_hook){
                .event = &f->place->host->events[0],
                .words = words,
                .word_count = count,
                .plain = true,
                .fail_closed = true, /* the plugin throws */
                .every_tool = true,
            };
        }
    }
    json_finish(&doc);
    return true;
}

static bool find_in_text(struct finding_hooks *f, const char *path, struct slice text, struct buf *ret_error)
{
    struct settings settings;
    if (!settings_init(&settings, path, text, ret_error)) {
        return false;
    }
    const struct host *host = f->place->host;
    const struct json_value *hooks = json_get(&settings.doc, settings.root, "hooks");
    bool ok = true;
    f->doc = &settings.doc;
    for (size_t i = 0; i < host->event_count && ok; i++) {
        ok = find_in_event(f, &host->events[i], json_get(&settings.doc, hooks, host->events[i].name));
    }
    settings_finish(&settings);
    if (!ok) {
        buf_text(ret_error, "too many hooks of ours");
    }
    return ok;
}

bool installed_hooks_find(const struct install_place *place, struct arena *arena,
                          struct installed_hook **ret_list, size_t *ret_count, struct buf *ret_error)
{
    struct finding_hooks f = {.place = place, .arena = arena, .cap = 64};
    struct buf path;
    struct text_file file;
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    f.list = arena_array(arena, f.cap, sizeof(*f.list));
    bool ok = f.list != NULL && install_place_path(place, &path);
    if (!ok) {
        buf_text(ret_error, "this host has no such place");
    }
    if (ok && (ok = text_file_read(&file, path.ptr, LIMIT_MESSAGE_BYTES, ret_error))) {
        if (file.existed && place->host->shape->plugin) {
            ok = find_in_plugin(&f, buf_slice_of(&file.text));
        } else if (file.existed) {
            ok = find_in_text(&f, path.ptr, buf_slice_of(&file.text), ret_error);
        }
        text_file_finish(&file);
    }
    buf_finish(&path);
    *ret_list = f.list;
    *ret_count = f.count;
    return ok;
}
