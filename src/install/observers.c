/* Hooks and gates with --observe: where they were written, and which are there. */
#include "install/observers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/utf8.h"
#include "install/internal.h"
#include "install/mcp_entries.h"
#include "install/observed_internal.h"
#include "install/wrap.h"

#define OBSERVERS_MOST 1024u

/* ---- Finding ---- */

struct finding_observers {
    struct arena *arena;
    struct observer *list;
    size_t count;
    struct slice home, project;
    struct buf *report;
};

static bool has_word(char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static struct observer *add(struct finding_observers *f, const struct host *host, const char *file)
{
    for (size_t i = 0; i < f->count; i++) {
        if (host != NULL && f->list[i].place.host == host && strcmp(f->list[i].file, file) == 0) {
            return NULL; /* a project in the home directory, or one that was noted too */
        }
    }
    const char *kept = f->count < OBSERVERS_MOST ? arena_copy(f->arena, slice_of(file)).ptr : NULL;
    if (kept == NULL) {
        return NULL;
    }
    struct observer *added = &f->list[f->count++];
    *added = (struct observer){.file = kept};
    return added;
}

static void look_at_hooks(struct finding_observers *f, const struct install_place *place)
{
    struct installed_hook *hooks = NULL;
    size_t count = 0;
    struct buf path;
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    bool found =
        install_place_path(place, &path) && installed_hooks_find(place, f->arena, &hooks, &count, f->report);
    if (!found && f->report->len > 0 && f->report->ptr[f->report->len - 1] != '\n') {
        buf_byte(f->report, '\n');
    }
    for (size_t i = 0; found && i < count; i++) {
        if (!has_word(hooks[i].words, hooks[i].word_count, "--observe")) {
            continue;
        }
        struct observer *added = add(f, place->host, path.ptr);
        if (added != NULL) {
            added->place = *place;
            added->hook = hooks[i];
            for (size_t w = 0; w + 1 < hooks[i].word_count; w++) {
                added->state =
                    strcmp(hooks[i].words[w], "--state") == 0 ? hooks[i].words[w + 1] : added->state;
            }
        }
        break;
    }
    buf_finish(&path);
}

static void look_at_entry(struct finding_observers *f, const char *file, const struct server_entry *entry)
{
    const char *state = NULL;
    bool observes = false;
    for (size_t i = 0; i < entry->word_count && !slice_is(entry->decoded[i], "--"); i++) {
        observes = observes || slice_is(entry->decoded[i], "--observe");
        if (slice_is(entry->decoded[i], "--state") && i + 1 < entry->word_count) {
            state = entry->decoded[i + 1].ptr;
        }
    }
    struct observer *added = observes && server_entry_is_gate(entry) ? add(f, NULL, file) : NULL;
    if (added != NULL) {
        added->server = entry->name;
        added->state = state;
    }
}

static void look_at_servers(struct finding_observers *f, const char *path)
{
    struct text_file file;
    struct server_entries entries = {.arena = f->arena};
    size_t len = strlen(path);
    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].place.host == NULL && strcmp(f->list[i].file, path) == 0) {
            return;
        }
    }
    if (!text_file_read(&file, path, LIMIT_MESSAGE_BYTES, f->report)) {
        buf_byte(f->report, '\n');
        return;
    }
    bool toml = len > 5 && strcmp(path + len - 5, ".toml") == 0, read = false;
    if (file.existed) {
        read = toml ? server_entries_toml(&entries, buf_slice_of(&file.text))
                    : server_entries_json(&entries, path, buf_slice_of(&file.text), f->report);
    }
    for (size_t i = 0; read && i < entries.count; i++) {
        look_at_entry(f, path, &entries.list[i]);
    }
    text_file_finish(&file);
}

static void look_at_known_places(struct finding_observers *f)
{
    for (size_t i = 0; i < host_count; i++) {
        for (enum install_scope scope = INSTALL_SCOPE_USER; scope <= INSTALL_SCOPE_MANAGED; scope++) {
            const struct install_place place = {
                .host = hosts[i], .scope = scope, .home = f->home, .project = f->project};
            struct buf path;
            buf_init(&path, LIMIT_PATH_BYTES + 1);
            if (install_place_path(&place, &path)) {
                look_at_hooks(f, &place);
            }
            buf_finish(&path);
        }
    }
    for (size_t i = 0; i < mcp_config_count; i++) {
        char path[2 * LIMIT_PATH_BYTES];
        struct slice dir = mcp_configs[i].of_project ? f->project : f->home;
        snprintf(path, sizeof(path), "%.*s%s%s", SLICE_FMT(dir),
                 dir.len > 0 && dir.ptr[dir.len - 1] == '/' ? "" : "/", mcp_configs[i].file);
        look_at_servers(f, path);
    }
}

static bool look_at_noted(struct finding_observers *f, const char *state_dir)
{
    struct text_file noted;
    struct json_doc doc;
    json_init(&doc);
    bool ok = observed_read(&noted, &doc, state_dir, f->report);
    const struct json_value *list = ok ? json_root(&doc) : NULL;
    for (const struct json_value *v = ok ? json_first(&doc, list) : NULL; v != NULL;
         v = json_right(&doc, list, v)) {
        struct slice name = observed_member(&doc, v, "host");
        const char *file = arena_copy(f->arena, observed_member(&doc, v, "file")).ptr;
        const char *host_name = name.ptr != NULL ? arena_copy(f->arena, name).ptr : NULL;
        const struct host *host = host_name != NULL ? host_find(host_name) : NULL;
        if (file != NULL && host != NULL) {
            const struct install_place place = {
                .host = host, .settings = file, .home = f->home, .project = f->project};
            look_at_hooks(f, &place);
        } else if (file != NULL && name.ptr == NULL) {
            look_at_servers(f, file);
        }
    }
    if (ok) {
        text_file_finish(&noted);
    }
    json_finish(&doc);
    return ok;
}

bool observers_find(const char *state_dir, struct slice home, struct slice project, struct arena *arena,
                    struct observer **ret_list, size_t *ret_count, struct buf *ret_report)
{
    struct finding_observers f = {.arena = arena, .home = home, .project = project, .report = ret_report};
    if (f.project.len > 1 && f.project.ptr[f.project.len - 1] == '/') {
        f.project.len--;
    }
    f.list = arena_array(arena, OBSERVERS_MOST, sizeof(*f.list));
    if (f.list == NULL) {
        return false;
    }
    look_at_known_places(&f);
    (void)look_at_noted(&f, state_dir);
    *ret_list = f.list;
    *ret_count = f.count;
    return true;
}

void observer_write(struct buf *buf, const struct observer *observer)
{
    if (observer->place.host != NULL) {
        buf_printf(buf, "the hook of %s in ", observer->place.host->name);
    } else {
        buf_text(buf, "the gate of server ");
        utf8_append_printable(buf, observer->server);
        buf_text(buf, " in ");
    }
    utf8_append_printable(buf, slice_of(observer->file));
}

/* ---- Its end ---- */

static bool end_hook(const struct observer *observer, const char *state_dir, bool dry_run,
                     struct buf *ret_report, struct buf *ret_error)
{
    const struct installed_hook *hook = &observer->hook;
    struct install_options options = {
        .place = observer->place,
        .state_dir = state_dir,
        .deadline_ms = observer->place.host->deadline_ms,
        .reword = true,
        .dry_run = dry_run,
    };
    struct arena arena;
    arena_init(&arena, 1u << 20);
    const char **words = arena_array(&arena, hook->word_count + 1, sizeof(*words));
    for (size_t i = 0; words != NULL && i < hook->word_count; i++) {
        const char *word = hook->words[i], *value = i + 1 < hook->word_count ? hook->words[i + 1] : "";
        if (strcmp(word, "--event") == 0) {
            i++; /* each event names its own */
            continue;
        }
        if (strcmp(word, "--deadline") == 0 && strtoul(value, NULL, 10) > 0) {
            options.deadline_ms = (uint32_t)strtoul(value, NULL, 10) * 1000;
        }
        if (strcmp(word, "--observe") != 0) {
            words[options.word_count++] = word;
        }
    }
    options.words = words;
    bool ok = words != NULL && install_hook(&options, ret_report, ret_error);
    arena_finish(&arena);
    return ok;
}

bool observer_end(const struct observer *observer, const char *state_dir, bool dry_run,
                  struct buf *ret_report, struct buf *ret_error)
{
    const char *state = observer->state != NULL ? observer->state : state_dir;
    if (observer->place.host != NULL) {
        return end_hook(observer, state, dry_run, ret_report, ret_error);
    }
    const struct wrap_options options = {.file = observer->file, .state_dir = state, .dry_run = dry_run};
    struct wrap_result result;
    return wrap_end_observing(&options, &result, ret_report, ret_error);
}
