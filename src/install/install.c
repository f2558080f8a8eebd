/* Puts a hook into the settings of its host, with the rules that protect it. */
#include "install/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "install/internal.h"
#include "install/observed_internal.h"
#include "install/opencode_shim.h"

/* ---- What is put in ---- */

/* `"command":…` and, where no shell runs it, `"args":[…]`; an event that is not the first is named. */
static void write_command(struct buf *buf, const struct install_options *options,
                          const struct host_event *event)
{
    const struct host *host = options->place.host;
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
            write_shell_word(&line, word);
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

static void write_element(struct buf *buf, const struct install_options *options,
                          const struct host_event *event)
{
    const struct host_settings *shape = options->place.host->shape;
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

/* ---- Install ---- */

static mode_t mode_of(const struct install_place *place)
{
    return place->scope == INSTALL_SCOPE_USER ? 0600 : 0644;
}

static bool put_hooks_in(struct install_work *w)
{
    const struct host *host = w->options->place.host;
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

/* What is to be protected: policies, settings under both of their names, the rules themselves, state, program, and
 * the files that steer the host. NULL when memory ran out. */
static const char **protected_paths(struct install_work *w, struct arena *arena, size_t *ret_count)
{
    const struct install_options *options = w->options;
    const struct install_place *place = &options->place;
    struct steering_paths steering = {.arena = arena};
    struct buf path;
    size_t count = 0;
    if (!steering_add_all(&steering, place->host, place->home, place->project)) {
        return NULL;
    }
    const char **paths = arena_array(arena, options->policy_count + steering.count + 16, sizeof(*paths));
    if (paths == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < options->policy_count; i++) {
        paths[count++] = options->policies[i];
    }
    paths[count++] = "/etc/callgate";
    paths[count++] = options->state_dir;
    paths[count++] = options->words[0];
    paths[count++] = arena_copy(arena, buf_slice_of(&w->file.path)).ptr;
    paths[count++] = arena_copy(arena, buf_slice_of(&w->record.protect)).ptr;
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    if (install_place_path(place, &path)) {
        paths[count++] = arena_copy(arena, slice_of(path.ptr)).ptr;
    }
    buf_finish(&path);
    for (size_t i = 0; i < steering.count; i++) {
        /* For everybody on this machine: nobody's home is known. */
        bool known = place->scope != INSTALL_SCOPE_MANAGED || steering.list[i].file->root == STEERING_SYSTEM;
        if (known) {
            paths[count++] = steering.list[i].path;
        }
    }
    *ret_count = count;
    return paths;
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

static bool write_protect_file(struct install_work *w)
{
    struct arena arena;
    struct buf text;
    struct text_file file;
    size_t count = 0;
    arena_init(&arena, LIMIT_MESSAGE_BYTES);
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    const char **paths = protected_paths(w, &arena, &count);
    if (paths != NULL) {
        host_write_protection(&text, w->options->place.host, "callgate-protect", paths,
                              distinct(paths, count));
    }
    buf_byte(&w->record.protect, '\0');
    bool ok = paths != NULL && buf_ok(&text) && buf_ok(&w->record.protect) &&
              text_file_read(&file, w->record.protect.ptr, LIMIT_MESSAGE_BYTES, w->error);
    if (buf_ok(&w->record.protect)) {
        w->record.protect.len--;
    }
    if (ok) {
        mode_t mode = w->options->place.scope == INSTALL_SCOPE_MANAGED ? 0644 : 0600;
        w->protect_as_it_is = file.existed && slice_eq(buf_slice_of(&file.text), buf_slice_of(&text));
        ok = w->options->dry_run || w->protect_as_it_is ||
             text_file_replace(&file, buf_slice_of(&text), mode, w->error);
        text_file_finish(&file);
    }
    buf_finish(&text);
    arena_finish(&arena);
    return ok;
}

/* What stood there and runs something else now. */
static void report_older(struct install_work *w)
{
    if (w->older_count > 0) {
        const struct installed_hook *hook = &w->older[0];
        buf_text(w->report,
                 w->options->dry_run ? "would replace the older hook: " : "replaced the older hook: ");
        for (size_t i = 0; i < hook->word_count; i++) {
            struct buf word;
            buf_init(&word, LIMIT_MESSAGE_BYTES);
            write_shell_word(&word, hook->words[i]);
            buf_text(w->report, i > 0 ? " " : "");
            utf8_append_printable(w->report, buf_slice_of(&word));
            buf_finish(&word);
        }
        buf_byte(w->report, '\n');
    }
}

static void report_change(struct install_work *w, struct slice text)
{
    const struct host_settings *shape = w->options->place.host->shape;
    bool as_it_is = w->file.existed && slice_eq(text, buf_slice_of(&w->file.text));
    if (as_it_is) {
        buf_printf(w->report, "%s has this hook already: left as it is\n", w->file.path.ptr);
    } else {
        report_older(w);
        buf_text(w->report, w->options->dry_run ? "would write " : "wrote ");
        buf_text(w->report, w->file.path.ptr);
        buf_byte(w->report, '\n');
    }
    if (w->options->dry_run && !as_it_is) {
        buf_slice(w->report, text);
        if (text.len && text.ptr[text.len - 1] != '\n') {
            buf_byte(w->report, '\n');
        }
    }
    if (w->record.protect.len && !w->protect_as_it_is) {
        buf_text(w->report, w->options->dry_run ? "would write " : "wrote ");
        buf_slice(w->report, buf_slice_of(&w->record.protect));
        buf_text(w->report, ": rules that keep the agent from writing policy, settings and state\n");
    }
    if (shape->note != NULL && !as_it_is) {
        buf_text(w->report, "note: ");
        buf_text(w->report, shape->note);
        buf_byte(w->report, '\n');
    }
}

/* So that `callgate enforce` finds it. */
static bool note_observing(const struct install_work *w)
{
    const struct install_options *options = w->options;
    bool observes = false;
    for (size_t i = 0; i < options->word_count; i++) {
        observes = observes || strcmp(options->words[i], "--observe") == 0;
    }
    return !observes ||
           observed_note(options->state_dir, w->file.path.ptr, options->place.host->name, w->error);
}

/* Protection first, as the command names it; then the record, as without it nothing could be undone; the
 * settings last, in one step. */
static bool carry_out(struct install_work *w, struct slice text)
{
    const struct install_options *options = w->options;
    if (options->protect && (!install_protect_path(&options->place, &w->record.protect))) {
        return false;
    }
    if (options->protect) {
        w->record.protect.len--; /* the NUL */
    }
    if (options->protect && !write_protect_file(w)) {
        return false;
    }
    bool as_it_is = w->file.existed && slice_eq(text, buf_slice_of(&w->file.text));
    if (!options->dry_run && !note_observing(w)) {
        return false;
    }
    if (!options->dry_run &&
        (!record_write(&w->record, options, w->file.path.ptr, w->error) ||
         (!as_it_is && !text_file_replace(&w->file, text, mode_of(&options->place), w->error)))) {
        return false;
    }
    report_change(w, text);
    return true;
}

static bool install_in_settings(struct install_work *w)
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

static bool install_plugin(struct install_work *w)
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

bool install_hook(const struct install_options *options, struct buf *ret_report, struct buf *ret_error)
{
    struct install_work w;
    if (!install_work_init(&w, options, ret_report, ret_error)) {
        return false;
    }
    struct arena arena; /* of what stands there */
    arena_init(&arena, 4 * (size_t)LIMIT_MESSAGE_BYTES);
    if (!options->reword) {
        buf_reset(&w.record.protect);
    }
    bool ok = installed_hooks_find(&options->place, &arena, &w.older, &w.older_count, ret_error) &&
              (options->place.host->shape->plugin ? install_plugin(&w) : install_in_settings(&w));
    arena_finish(&arena);
    install_work_finish(&w);
    if (!ok && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    return ok;
}
