/* Takes a hook out of the settings of its host, and what came along with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "install/internal.h"

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

static bool take_out_by_record(struct settings *settings, const char *name,
                               const struct install_record *record)
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
static bool remove_one(struct settings *settings, const struct host *host, bool *ret_failed)
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

bool take_hook_out(struct settings *settings, const struct host *host, const struct install_record *record,
                   bool *ret_found)
{
    bool failed = false;
    *ret_found = take_out_by_record(settings, host->name, record);
    while (!failed && remove_one(settings, host, &failed)) {
        *ret_found = true;
    }
    return !failed;
}

/* ---- Uninstall ---- */

/* What is left when the hook is out: the very bytes of before, if nothing else has changed. */
static struct slice left_over(const struct install_work *w)
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
static void remove_protection(struct install_work *w)
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

static enum uninstall_result put_back(struct install_work *w)
{
    struct slice text = left_over(w);
    bool remove = w->options->place.host->shape->plugin ||
                  (w->record.found && !w->record.existed && slice_is(text, "{}\n"));
    bool dry = w->options->dry_run;
    buf_printf(w->report, "%s%s %s\n", dry ? "would " : "",
               remove ? (dry ? "remove" : "removed") : (dry ? "write" : "wrote"), w->file.path.ptr);
    if (dry) {
        return UNINSTALL_DONE;
    }
    if (remove ? !text_file_remove(&w->file, w->error) : !text_file_replace(&w->file, text, 0600, w->error)) {
        return UNINSTALL_FAILED;
    }
    remove_protection(w);
    record_remove(w->options, w->file.path.ptr);
    return UNINSTALL_DONE;
}

static enum uninstall_result uninstall_from_settings(struct install_work *w)
{
    enum uninstall_result result = UNINSTALL_FAILED;
    bool found = false;
    if (!settings_init(&w->settings, w->file.path.ptr, buf_slice_of(&w->file.text), w->error)) {
        return result;
    }
    if (take_hook_out(&w->settings, w->options->place.host, &w->record, &found)) {
        result = found ? put_back(w) : UNINSTALL_NONE;
    }
    settings_finish(&w->settings);
    return result;
}

enum uninstall_result uninstall_hook(const struct install_options *options, struct buf *ret_report,
                                     struct buf *ret_error)
{
    struct install_work w;
    enum uninstall_result result = UNINSTALL_NONE;
    if (!install_work_init(&w, options, ret_report, ret_error)) {
        return UNINSTALL_FAILED;
    }
    if (!w.file.existed) {
        result = UNINSTALL_NONE;
    } else if (!options->place.host->shape->plugin) {
        result = uninstall_from_settings(&w);
    } else if (is_plugin(buf_slice_of(&w.file.text))) {
        result = put_back(&w);
    }
    if (result == UNINSTALL_NONE && w.record.found && !options->dry_run) {
        /* Somebody else has taken the hook out: what came along with it goes, too. */
        remove_protection(&w);
        record_remove(options, w.file.path.ptr);
    }
    install_work_finish(&w);
    if (result == UNINSTALL_FAILED && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    return result;
}
