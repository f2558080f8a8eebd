#include "hook/install.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hook/message.h"
#include "hook/opencode_shim.h"
#include "hook/place.h"

/* ---- Places ---- */

static bool write_path(struct buf *buf, struct slice dir, const char *file)
{
    buf_slice(buf, dir);
    if (dir.len && dir.ptr[dir.len - 1] != '/') {
        buf_byte(buf, '/');
    }
    buf_text(buf, file);
    buf_byte(buf, '\0');
    return buf_ok(buf);
}

bool hook_place_path(const struct hook_place *place, struct buf *ret_path)
{
    const struct hook_shape *shape = place->host->shape;
    if (place->settings != NULL) {
        return write_path(ret_path, (struct slice){0}, place->settings);
    }
    switch (place->scope) {
    case HOOK_SCOPE_USER:
        return write_path(ret_path, place->home, shape->user);
    case HOOK_SCOPE_PROJECT:
        return write_path(ret_path, place->project, shape->project);
    case HOOK_SCOPE_MANAGED:
        break;
    }
    return shape->managed != NULL && write_path(ret_path, (struct slice){0}, shape->managed);
}

bool hook_protect_path(const struct hook_place *place, struct buf *ret_path)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1], name[128];
    if (place->scope == HOOK_SCOPE_MANAGED) {
        buf_printf(ret_path, "/etc/callgate/protect-%s.json", place->host->name);
        buf_byte(ret_path, '\0');
        return buf_ok(ret_path);
    }
    struct slice key = place->settings != NULL ? slice_of(place->settings) : place->project;
    if (place->scope == HOOK_SCOPE_USER && place->settings == NULL) {
        snprintf(name, sizeof(name), ".config/callgate/protect-%s.json", place->host->name);
    } else {
        if (!hash_bytes(key, hash)) {
            return false;
        }
        hash_to_hex(hash, hex);
        snprintf(name, sizeof(name), ".config/callgate/protect-%s-%.16s.json", place->host->name, hex);
    }
    return write_path(ret_path, place->home, name);
}

bool hook_program_path(struct buf *ret_path)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len <= 0) {
        return false;
    }
    self[len] = '\0';
    size_t before = ret_path->len;
    const char *slash = strrchr(self, '/');
    buf_bytes(ret_path, self, (size_t)(slash - self));
    buf_text(ret_path, "/callgate-static");
    buf_byte(ret_path, '\0');
    if (buf_ok(ret_path) && access(ret_path->ptr + before, X_OK) == 0) {
        return true;
    }
    if (buf_ok(ret_path)) {
        ret_path->len = before;
    }
    buf_text(ret_path, self);
    buf_byte(ret_path, '\0');
    return buf_ok(ret_path);
}

/* Whether a command line runs `callgate run`. */
static bool is_wrapped(struct slice launched)
{
    const char *space = memchr(launched.ptr, ' ', launched.len);
    struct slice program = {launched.ptr, space != NULL ? (size_t)(space - launched.ptr) : launched.len};
    const char *slash = memrchr(program.ptr, '/', program.len);
    if (space == NULL) {
        return false;
    }
    if (slash != NULL) {
        program = slice_from(program, (size_t)(slash - program.ptr) + 1);
    }
    struct slice rest = slice_from(launched, (size_t)(space - launched.ptr) + 1);
    return slice_starts_with(program, SLICE("callgate")) &&
           (slice_is(rest, "run") || slice_starts_with(rest, SLICE("run ")));
}

bool hook_wrapped_servers(const struct hook_place *place, struct buf *ret_names)
{
    struct hook_message message;
    struct hook_places places = {.home = place->home};
    struct hook_servers servers = {0};
    if (!hook_message_init(&message)) {
        return false;
    }
    message.cwd = place->project;
    bool ok = place->host->servers(&message, &places, &servers);
    for (size_t i = 0; i < servers.count && ok; i++) {
        if (servers.list[i].launched.len == 0 || !is_wrapped(servers.list[i].launched)) {
            continue;
        }
        buf_slice(ret_names, servers.list[i].name);
        buf_byte(ret_names, '\0');
    }
    hook_message_finish(&message);
    return ok && buf_ok(ret_names);
}

/* ---- What is put in ---- */

static bool is_plain(const char *word)
{
    static const char others[] = "_./=:@%+,-";
    for (const char *at = word; *at; at++) {
        if (!(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') && !(*at >= '0' && *at <= '9') &&
            strchr(others, *at) == NULL) {
            return false;
        }
    }
    return *word != '\0';
}

void hook_write_word(struct buf *buf, const char *word)
{
    if (is_plain(word)) {
        buf_text(buf, word);
        return;
    }
    buf_byte(buf, '\'');
    for (; *word; word++) {
        if (*word == '\'') {
            buf_text(buf, "'\\''");
        } else {
            buf_byte(buf, *word);
        }
    }
    buf_byte(buf, '\'');
}

/* `"command":…` and, where no shell runs it, `"args":[…]`; an event that is not the first is named. */
static void write_command(struct buf *buf, const struct hook_install_options *options,
                          const struct hook_event *event)
{
    const struct hook_host *host = options->place.host;
    const char *const named[] = {"--event", event->name};
    size_t extra = event == &host->events[0] ? 0 : 2;
    struct buf line;
    buf_init(&line, LIMIT_MESSAGE_BYTES);
    for (size_t i = 0; i < options->word_count + extra; i++) {
        const char *word = i < options->word_count ? options->words[i] : named[i - options->word_count];
        if (host->shape->args && i > 0) {
            buf_byte(&line, i > 1 ? ',' : '[');
            json_write_bytes(&line, slice_of(word));
        } else if (!host->shape->args) {
            buf_text(&line, i ? " " : "");
            hook_write_word(&line, word);
        }
    }
    buf_text(buf, "\"command\":");
    json_write_bytes(buf, host->shape->args ? slice_of(options->words[0]) : buf_slice_of(&line));
    if (host->shape->args) {
        buf_text(buf, ",\"args\":");
        buf_slice(buf, buf_slice_of(&line));
        buf_byte(buf, ']');
    }
    buf->failed = buf->failed || line.failed;
    buf_finish(&line);
}

static void write_element(struct buf *buf, const struct hook_install_options *options,
                          const struct hook_event *event)
{
    const struct hook_shape *shape = options->place.host->shape;
    if (shape->groups) {
        buf_byte(buf, '{');
        if (shape->matcher != NULL) {
            buf_printf(buf, "\"matcher\":\"%s\",", shape->matcher);
        }
        buf_text(buf, "\"hooks\":[");
    }
    buf_text(buf, shape->groups ? "{\"type\":\"command\"," : "{");
    write_command(buf, options, event);
    buf_text(buf, shape->entry);
    buf_printf(buf, ",\"timeout\":%u", (options->deadline_ms + shape->margin_ms) / shape->timeout_unit_ms);
    if (shape->fail_closed != NULL) {
        buf_printf(buf, ",\"%s\":%s", shape->fail_closed, shape->fail_closed_value);
    }
    buf_text(buf, shape->groups ? "}]}" : "}");
}

#define PLUGIN_COMMAND "[\"callgate\", \"hook\", \"opencode\"]"

bool write_plugin(struct buf *buf, const char *const *words, size_t count)
{
    struct slice shim = {opencode_shim, sizeof(opencode_shim) - 1};
    const char *at = memmem(shim.ptr, shim.len, PLUGIN_COMMAND, sizeof(PLUGIN_COMMAND) - 1);
    if (at == NULL) {
        return false;
    }
    buf_bytes(buf, shim.ptr, (size_t)(at - shim.ptr));
    for (size_t i = 0; i < count; i++) {
        buf_text(buf, i ? ", " : "[");
        json_write_bytes(buf, slice_of(words[i]));
    }
    buf_byte(buf, ']');
    buf_slice(buf, slice_from(shim, (size_t)(at - shim.ptr) + sizeof(PLUGIN_COMMAND) - 1));
    return buf_ok(buf);
}

bool is_plugin(struct slice text)
{
    return slice_starts_with(text, SLICE("// Callgate's hook for opencode"));
}

/* ---- Taking out ---- */

/* The last of the texts that were put in and are not yet taken out, which end at `end`. */
static struct slice last_inserted(const struct buf *inserted, size_t end)
{
    size_t start = end - 1;
    while (start > 0 && inserted->ptr[start - 1] != '\0') {
        start--;
    }
    return (struct slice){inserted->ptr + start, end - 1 - start};
}

static bool take_out_by_record(struct settings *settings, const char *name, const struct hook_record *record)
{
    struct settings attempt;
    struct buf ignored;
    buf_init(&ignored, 4096);
    bool ok = record->found && record->inserted.len &&
              settings_init(&attempt, name, buf_slice_of(&settings->text), &ignored);
    buf_finish(&ignored);
    if (!ok) {
        return false;
    }
    for (size_t end = record->inserted.len; end > 0 && ok;) {
        struct slice text = last_inserted(&record->inserted, end);
        ok = settings_take_out(&attempt, text);
        end -= text.len + 1;
    }
    if (!ok) {
        settings_finish(&attempt);
        return false;
    }
    settings_finish(settings);
    *settings = attempt;
    return true;
}

/* Removes one hook of ours; false when there is none. A group that held nothing else goes along. */
static bool remove_one(struct settings *settings, const struct hook_host *host, bool *ret_failed)
{
    const struct json_doc *doc = &settings->doc;
    const struct json_value *hooks = json_get(doc, settings->root, "hooks"), *v, *entry;
    for (size_t i = 0; i < host->event_count; i++) {
        const struct json_value *list = json_get(doc, hooks, host->events[i].name);
        for (v = json_is(list, JSON_ARRAY) ? json_first(doc, list) : NULL; v != NULL;
             v = json_right(doc, list, v)) {
            const struct json_value *inner = json_get(doc, v, "hooks");
            if (!host->shape->groups && is_ours(doc, v, host)) {
                *ret_failed = !settings_remove(settings, list, v);
                return true;
            }
            for (entry = json_is(inner, JSON_ARRAY) ? json_first(doc, inner) : NULL; entry != NULL;
                 entry = json_right(doc, inner, entry)) {
                if (!is_ours(doc, entry, host)) {
                    continue;
                }
                *ret_failed = inner->count == 1 ? !settings_remove(settings, list, v)
                                                : !settings_remove(settings, inner, entry);
                return true;
            }
        }
    }
    return false;
}

bool take_hook_out(struct settings *settings, const struct hook_host *host, const struct hook_record *record,
                   bool *ret_found)
{
    bool failed = false;
    *ret_found = take_out_by_record(settings, host->name, record);
    while (!failed && remove_one(settings, host, &failed)) {
        *ret_found = true;
    }
    return !failed;
}

/* ---- Install ---- */

struct work {
    const struct hook_install_options *options;
    struct text_file file;
    struct settings settings;
    struct hook_record record;
    struct buf *report, *error;
};

static mode_t mode_of(const struct hook_place *place)
{
    return place->scope == HOOK_SCOPE_USER ? 0600 : 0644;
}

static bool put_hooks_in(struct work *w)
{
    const struct hook_host *host = w->options->place.host;
    bool ok = true;
    buf_reset(&w->record.inserted);
    for (size_t i = host->event_count; i-- > 0 && ok;) {
        const char *const path[] = {"hooks", host->events[i].name, NULL};
        struct buf element;
        buf_init(&element, LIMIT_MESSAGE_BYTES);
        write_element(&element, w->options, &host->events[i]);
        ok = buf_ok(&element) &&
             settings_add(&w->settings, path, buf_slice_of(&element), &w->record.inserted, w->error);
        buf_byte(&w->record.inserted, '\0');
        buf_finish(&element);
    }
    size_t before = w->record.inserted.len;
    if (ok && host->shape->version != NULL) {
        ok = settings_add_member(&w->settings, "version", slice_of(host->shape->version), &w->record.inserted,
                                 w->error);
    }
    if (w->record.inserted.len > before) {
        buf_byte(&w->record.inserted, '\0');
    }
    return ok && buf_ok(&w->record.inserted);
}

/* What is to be protected: policies, settings under both of their names, the rules themselves, state,
 * program. */
static size_t protected_paths(struct work *w, struct arena *arena, const char ***ret_paths)
{
    const struct hook_install_options *options = w->options;
    const struct hook_shape *shape = options->place.host->shape;
    size_t count = 0, most = options->policy_count + 16;
    struct buf path;
    for (const char *const *more = shape->protect; *more != NULL; more++) {
        most++;
    }
    const char **paths = arena_array(arena, most, sizeof(*paths));
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    if (paths != NULL) {
        for (size_t i = 0; i < options->policy_count; i++) {
            paths[count++] = options->policies[i];
        }
        paths[count++] = "/etc/callgate";
        paths[count++] = options->state_dir;
        paths[count++] = options->words[0];
        paths[count++] = arena_copy(arena, buf_slice_of(&w->file.path)).ptr;
        paths[count++] = arena_copy(arena, buf_slice_of(&w->record.protect)).ptr;
        if (hook_place_path(&options->place, &path)) {
            paths[count++] = arena_copy(arena, slice_of(path.ptr)).ptr;
        }
        for (const char *const *more = shape->protect; *more != NULL; more++) {
            buf_reset(&path);
            if (options->place.scope != HOOK_SCOPE_MANAGED && write_path(&path, options->place.home, *more)) {
                paths[count++] = arena_copy(arena, slice_of(path.ptr)).ptr;
            }
        }
    }
    buf_finish(&path);
    *ret_paths = paths;
    return count;
}

/* Each path once, and none that could not be copied. */
static size_t distinct(const char **paths, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool seen = paths[i] == NULL || !*paths[i];
        for (size_t j = 0; j < kept; j++) {
            seen = seen || strcmp(paths[j], paths[i]) == 0;
        }
        if (!seen) {
            paths[kept++] = paths[i];
        }
    }
    return kept;
}

static bool write_protect_file(struct work *w)
{
    struct arena arena;
    struct buf text;
    struct text_file file;
    const char **paths = NULL;
    arena_init(&arena, LIMIT_MESSAGE_BYTES);
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    size_t count = protected_paths(w, &arena, &paths);
    if (paths != NULL) {
        write_protection(&text, w->options->place.host, paths, distinct(paths, count));
    }
    buf_byte(&w->record.protect, '\0');
    bool ok = paths != NULL && buf_ok(&text) && buf_ok(&w->record.protect) &&
              text_file_read(&file, w->record.protect.ptr, LIMIT_MESSAGE_BYTES, w->error);
    if (buf_ok(&w->record.protect)) {
        w->record.protect.len--;
    }
    if (ok) {
        mode_t mode = w->options->place.scope == HOOK_SCOPE_MANAGED ? 0644 : 0600;
        ok = w->options->dry_run || text_file_replace(&file, buf_slice_of(&text), mode, w->error);
        text_file_finish(&file);
    }
    buf_finish(&text);
    arena_finish(&arena);
    return ok;
}

static void report_change(struct work *w, struct slice text)
{
    const struct hook_shape *shape = w->options->place.host->shape;
    buf_text(w->report, w->options->dry_run ? "would write " : "wrote ");
    buf_text(w->report, w->file.path.ptr);
    buf_byte(w->report, '\n');
    if (w->options->dry_run) {
        buf_slice(w->report, text);
        if (text.len && text.ptr[text.len - 1] != '\n') {
            buf_byte(w->report, '\n');
        }
    }
    if (w->record.protect.len) {
        buf_text(w->report, w->options->dry_run ? "would write " : "wrote ");
        buf_slice(w->report, buf_slice_of(&w->record.protect));
        buf_text(w->report, ": rules that keep the agent from writing policy, settings and state\n");
    }
    if (shape->note != NULL) {
        buf_text(w->report, "note: ");
        buf_text(w->report, shape->note);
        buf_byte(w->report, '\n');
    }
}

/* Protection first, as the command names it; then the record, as without it nothing could be undone; the
 * settings last, in one step. */
static bool carry_out(struct work *w, struct slice text)
{
    const struct hook_install_options *options = w->options;
    if (options->protect && (!hook_protect_path(&options->place, &w->record.protect))) {
        return false;
    }
    if (options->protect) {
        w->record.protect.len--; /* the NUL */
    }
    if (options->protect && !write_protect_file(w)) {
        return false;
    }
    if (!options->dry_run && (!record_write(&w->record, options, w->file.path.ptr, w->error) ||
                              !text_file_replace(&w->file, text, mode_of(&options->place), w->error))) {
        return false;
    }
    report_change(w, text);
    return true;
}

static bool install_in_settings(struct work *w)
{
    bool found;
    if (!settings_init(&w->settings, w->file.path.ptr, buf_slice_of(&w->file.text), w->error)) {
        return false;
    }
    bool ok = take_hook_out(&w->settings, w->options->place.host, &w->record, &found);
    /* A copy of before the first time stays the copy. */
    if (ok && !(found && w->record.found)) {
        w->record.existed = w->file.existed;
        buf_reset(&w->record.before);
        buf_slice(&w->record.before, buf_slice_of(&w->file.text));
    }
    ok = ok && put_hooks_in(w) && carry_out(w, buf_slice_of(&w->settings.text));
    settings_finish(&w->settings);
    return ok;
}

static bool install_plugin(struct work *w)
{
    struct buf text;
    if (w->file.existed && !is_plugin(buf_slice_of(&w->file.text))) {
        buf_printf(w->error, "%s is another plugin: move it away first", w->file.path.ptr);
        return false;
    }
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    w->record.existed = false;
    buf_reset(&w->record.inserted);
    bool ok =
        write_plugin(&text, w->options->words, w->options->word_count) && carry_out(w, buf_slice_of(&text));
    buf_finish(&text);
    return ok;
}

static bool work_init(struct work *w, const struct hook_install_options *options, struct buf *ret_report,
                      struct buf *ret_error)
{
    struct buf path;
    *w = (struct work){.options = options, .report = ret_report, .error = ret_error};
    record_init(&w->record);
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    bool ok = hook_place_path(&options->place, &path);
    if (!ok) {
        buf_printf(ret_error, "%s has no such place", options->place.host->summary);
    }
    ok = ok && text_file_read(&w->file, path.ptr, LIMIT_MESSAGE_BYTES, ret_error);
    buf_finish(&path);
    if (ok && record_read(&w->record, options, w->file.path.ptr, ret_error)) {
        return true;
    }
    if (ok) {
        text_file_finish(&w->file);
    }
    record_finish(&w->record);
    return false;
}

static void work_finish(struct work *w)
{
    text_file_finish(&w->file);
    record_finish(&w->record);
}

bool hook_install(const struct hook_install_options *options, struct buf *ret_report, struct buf *ret_error)
{
    struct work w;
    if (!work_init(&w, options, ret_report, ret_error)) {
        return false;
    }
    buf_reset(&w.record.protect);
    bool ok = options->place.host->shape->plugin ? install_plugin(&w) : install_in_settings(&w);
    work_finish(&w);
    if (!ok && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    return ok;
}

/* ---- Uninstall ---- */

/* What is left when the hook is out: the very bytes of before, if nothing else has changed. */
static struct slice left_over(const struct work *w)
{
    struct slice text = buf_slice_of(&w->settings.text), before = buf_slice_of(&w->record.before);
    bool blank = w->record.found && w->record.existed && before.len < 64 && slice_is(text, "{}\n");
    for (size_t i = 0; i < before.len && blank; i++) {
        blank =
            before.ptr[i] == ' ' || before.ptr[i] == '\t' || before.ptr[i] == '\r' || before.ptr[i] == '\n';
    }
    return blank ? before : text;
}

/* The rules that came along, and the directory of ours that they stood in, if nothing else is in it. */
static void remove_protection(struct work *w)
{
    struct buf *path = &w->record.protect;
    buf_byte(path, '\0');
    if (!buf_ok(path) || path->len <= 1 || unlink(path->ptr) != 0) {
        return;
    }
    buf_printf(w->report, "removed %s\n", path->ptr);
    char *slash = strrchr(path->ptr, '/');
    if (slash != NULL) {
        *slash = '\0';
        (void)!rmdir(path->ptr);
    }
}

static enum hook_uninstall_result put_back(struct work *w)
{
    struct slice text = left_over(w);
    bool remove = w->options->place.host->shape->plugin ||
                  (w->record.found && !w->record.existed && slice_is(text, "{}\n"));
    bool dry = w->options->dry_run;
    buf_printf(w->report, "%s%s %s\n", dry ? "would " : "",
               remove ? (dry ? "remove" : "removed") : (dry ? "write" : "wrote"), w->file.path.ptr);
    if (dry) {
        return HOOK_UNINSTALL_DONE;
    }
    if (remove ? !text_file_remove(&w->file, w->error) : !text_file_replace(&w->file, text, 0600, w->error)) {
        return HOOK_UNINSTALL_FAILED;
    }
    remove_protection(w);
    record_remove(w->options, w->file.path.ptr);
    return HOOK_UNINSTALL_DONE;
}

static enum hook_uninstall_result uninstall_from_settings(struct work *w)
{
    enum hook_uninstall_result result = HOOK_UNINSTALL_FAILED;
    bool found = false;
    if (!settings_init(&w->settings, w->file.path.ptr, buf_slice_of(&w->file.text), w->error)) {
        return result;
    }
    if (take_hook_out(&w->settings, w->options->place.host, &w->record, &found)) {
        result = found ? put_back(w) : HOOK_UNINSTALL_NONE;
    }
    settings_finish(&w->settings);
    return result;
}

enum hook_uninstall_result hook_uninstall(const struct hook_install_options *options, struct buf *ret_report,
                                          struct buf *ret_error)
{
    struct work w;
    enum hook_uninstall_result result = HOOK_UNINSTALL_NONE;
    if (!work_init(&w, options, ret_report, ret_error)) {
        return HOOK_UNINSTALL_FAILED;
    }
    if (!w.file.existed) {
        result = HOOK_UNINSTALL_NONE;
    } else if (!options->place.host->shape->plugin) {
        result = uninstall_from_settings(&w);
    } else if (is_plugin(buf_slice_of(&w.file.text))) {
        result = put_back(&w);
    }
    work_finish(&w);
    if (result == HOOK_UNINSTALL_FAILED && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    return result;
}
