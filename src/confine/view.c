/* The view: prefixes of the policy that are proved denied, and what stands in them and is not. */
#include "confine/view.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "confine/view_internal.h"
#include "policy/policy.h"

/* A name that no rule has, for a place below a directory that is like every other unnamed one. */
#define UNNAMED    "/\x01"
#define VIEW_BYTES ((size_t)1 << 30)

bool view_add(struct view *view, enum view_kind kind, struct slice path, const char *why)
{
    if (view->count == view->cap) {
        size_t cap = view->cap > 0 ? view->cap * 2 : 64;
        struct view_place *list = arena_array(&view->arena, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        if (view->count > 0) {
            memcpy(list, view->list, view->count * sizeof(*list));
        }
        view->list = list;
        view->cap = cap;
    }
    struct view_place place = {kind, arena_copy(&view->arena, path), arena_copy(&view->arena, slice_of(why))};
    view->list[view->count] = place;
    view->count += place.path.ptr != NULL && place.why.ptr != NULL;
    return place.path.ptr != NULL && place.why.ptr != NULL;
}

static bool is_directory(struct slice path)
{
    struct stat st;
    char text[PATH_MAX];
    if (path.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, path.ptr, path.len);
    text[path.len] = '\0';
    return stat(text, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(struct slice path)
{
    struct stat st;
    char text[PATH_MAX];
    if (path.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, path.ptr, path.len);
    text[path.len] = '\0';
    return stat(text, &st) == 0;
}

/* Whether a prefix lies below a hidden one, with nothing that is kept between them. */
static bool is_below_hidden(const struct view *view, struct slice path)
{
    size_t nearest = 0;
    bool hidden = false;
    for (size_t i = 0; i < view->count; i++) {
        const struct view_place *place = &view->list[i];
        if ((place->kind == VIEW_HIDDEN || place->kind == VIEW_KEPT) && place->path.len >= nearest &&
            path_is_under(path, place->path)) {
            nearest = place->path.len;
            hidden = place->kind == VIEW_HIDDEN;
        }
    }
    return hidden;
}

/* Of a directory the question is about a place in it that no rule names: what rules name below it is asked about by
 * itself. */
static bool make_questions(const struct path_prefixes *prefixes, struct view_question *questions,
                           struct arena *arena)
{
    struct buf name;
    buf_init(&name, PATH_MAX + 16);
    bool ok = true;
    for (uint32_t i = 0; ok && i < prefixes->count; i++) {
        struct slice path = prefixes->list[i].path;
        buf_reset(&name);
        buf_slice(&name, path.len == 1 ? SLICE("") : path);
        buf_text(&name, is_directory(path) ? UNNAMED : "");
        questions[i].path = arena_copy(arena, path.len == 1 && name.len == 0 ? path : buf_slice_of(&name));
        ok = buf_ok(&name) && questions[i].path.ptr != NULL;
    }
    buf_finish(&name);
    return ok;
}

/* Prefixes by length: a place comes after everything that is above it. */
static void sort_by_length(uint32_t *order, const struct path_prefixes *prefixes)
{
    for (uint32_t i = 1; i < prefixes->count; i++) {
        uint32_t at = i, id = order[i];
        while (at > 0 && prefixes->list[order[at - 1]].path.len > prefixes->list[id].path.len) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = id;
    }
}

static bool add_prefix(struct view *view, struct slice path, const struct view_question *question)
{
    char why[256];
    bool hidden_above = is_below_hidden(view, path);
    if (!exists(path) || path.len == 1) {
        return true;
    }
    if (question->proved) {
        return hidden_above || view_add(view, VIEW_HIDDEN, path, "every call to it is denied");
    }
    snprintf(why, sizeof(why), "rule '%.*s' may let a call to it through", (int)question->against.len,
             question->against.ptr != NULL ? question->against.ptr : "");
    return view_add(view, hidden_above ? VIEW_KEPT : VIEW_VISIBLE, path,
                    question->against.len > 0 ? why : "no rule denies every call to it");
}

static bool add_prefixes(struct view *view, const struct view_options *options, struct buf *ret_error)
{
    const struct path_prefixes *prefixes = options->policy->prefixes;
    struct arena *arena = &view->arena;
    struct view_question *questions = arena_array(arena, prefixes->count + 1, sizeof(*questions));
    uint32_t *order = arena_array(arena, prefixes->count + 1, sizeof(*order));
    if (questions == NULL || order == NULL || !make_questions(prefixes, questions, arena)) {
        buf_text(ret_error, "no memory");
        return false;
    }
    if (!view_prove(options->policy, options->base, questions, prefixes->count, arena, ret_error)) {
        return false;
    }
    for (uint32_t i = 0; i < prefixes->count; i++) {
        order[i] = i;
    }
    sort_by_length(order, prefixes);
    for (uint32_t i = 0; i < prefixes->count; i++) {
        if (!add_prefix(view, prefixes->list[order[i]].path, &questions[order[i]])) {
            buf_text(ret_error, "no memory");
            return false;
        }
    }
    return true;
}

static bool has_place(const struct view *view, enum view_kind kind, struct slice path)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->list[i].kind == kind && slice_eq(view->list[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* Whether a document says that a place is not written to, itself or by what is above it. */
static bool is_read_only(const struct view_options *options, struct slice path)
{
    for (size_t i = 0; i < options->read_count; i++) {
        if (options->read[i].there && path_is_under(path, options->read[i].path)) {
            return true;
        }
    }
    return false;
}

/* What steers agents and version control stays as it is, wherever it stands in a writable directory: what is
 * written there runs later, outside. */
static bool add_writable(struct view *view, const struct view_options *options)
{
    static const char *const frozen[] = {".git/hooks", ".git/config",   ".claude",   ".cursor",
                                         ".codex",     ".gemini",       ".mcp.json", ".vscode",
                                         ".opencode",  "opencode.json", ".envrc"};
    char path[PATH_MAX];
    bool ok = true;
    for (size_t i = 0; ok && i < options->writable_count; i++) {
        struct slice place = options->writable[i].path;
        if (!options->writable[i].there) {
            ok = view_add(view, VIEW_ABSENT, place, options->writable[i].why);
            continue;
        }
        if (has_place(view, VIEW_WRITABLE, place) || is_read_only(options, place)) {
            continue;
        }
        ok = view_add(view, VIEW_WRITABLE, place, options->writable[i].why);
        snprintf(path, sizeof(path), "%.*s/.git", (int)place.len, place.ptr);
        if (ok && is_directory(slice_of(path))) {
            ok = view_add(view, VIEW_WRITABLE, slice_of(path),
                          "a mount point of its own, so that renaming it does not "
                          "go round what is frozen below");
        }
        for (size_t k = 0; ok && k < sizeof(frozen) / sizeof(frozen[0]); k++) {
            snprintf(path, sizeof(path), "%.*s/%s", (int)place.len, place.ptr, frozen[k]);
            if (exists(slice_of(path))) {
                ok = view_add(view, VIEW_FROZEN, slice_of(path), "it steers programs that run outside");
            }
        }
    }
    return ok;
}

/* A place below a writable directory is frozen; the directories between the two become mount points of their own, so
 * that renaming one of them does not go round it. */
static bool freeze_below(struct view *view, struct slice place, struct slice path, const char *why)
{
    bool ok = true;
    for (size_t at = place.len + 1; ok && at < path.len; at++) {
        struct slice between = {path.ptr, at};
        if (path.ptr[at] == '/' && !has_place(view, VIEW_WRITABLE, between)) {
            ok = view_add(view, VIEW_WRITABLE, between, "a mount point of its own, for what is frozen below");
        }
    }
    return ok && (has_place(view, VIEW_FROZEN, path) || view_add(view, VIEW_FROZEN, path, why));
}

static bool freeze(struct view *view, const struct view_options *options, struct slice path, const char *why)
{
    bool ok = true;
    for (size_t i = 0; ok && i < options->writable_count; i++) {
        const struct view_named *place = &options->writable[i];
        if (place->there && has_place(view, VIEW_WRITABLE, place->path) && path_is_under(path, place->path) &&
            !slice_eq(path, place->path)) {
            ok = freeze_below(view, place->path, path, why);
        }
    }
    return ok;
}

/* What steers agents at a place of the user's: the settings below a `~/.claude` that is writable. And what documents say
 * is not written to; where nothing writable is above it, it is read-only by itself. */
static bool add_frozen(struct view *view, const struct view_options *options)
{
    bool ok = true;
    for (size_t i = 0; ok && i < options->read_count; i++) {
        const struct view_named *place = &options->read[i];
        if (!place->there) {
            ok = view_add(view, VIEW_ABSENT, place->path, place->why);
            continue;
        }
        ok = freeze(view, options, place->path, place->why) &&
             (has_place(view, VIEW_FROZEN, place->path) ||
              view_add(view, VIEW_FROZEN, place->path, place->why));
    }
    for (size_t i = 0; ok && i < options->frozen_count; i++) {
        if (exists(options->frozen[i])) {
            ok = freeze(view, options, options->frozen[i],
                        "it steers agents that run outside, or the gate itself");
        }
    }
    return ok;
}

bool view_make(struct view *ret_view, const struct view_options *options, struct buf *ret_error)
{
    *ret_view = (struct view){0};
    arena_init(&ret_view->arena, VIEW_BYTES);
    bool ok =
        view_add(ret_view, VIEW_HIDDEN, options->state_dir, "the gate's own state") &&
        (options->gate_socket.ptr == NULL || view_add(ret_view, VIEW_KEPT, options->gate_socket,
                                                      "a broker outside judges here; it takes no answers")) &&
        add_writable(ret_view, options) && add_frozen(ret_view, options) &&
        view_add_sockets(ret_view, options);
    if (!ok) {
        buf_text(ret_error, "no memory");
    }
    ok = ok && add_prefixes(ret_view, options, ret_error) && view_find_names(ret_view, options, ret_error);
    if (!ok) {
        view_finish(ret_view);
    }
    return ok;
}

void view_finish(struct view *view)
{
    arena_finish(&view->arena);
    *view = (struct view){0};
}

void view_write(struct buf *buf, const struct view *view, bool landlock)
{
    static const char *const names[] = {"hidden", "kept", "writable", "read-only", "absent", "visible"};
    for (size_t i = 0; i < view->count; i++) {
        buf_printf(buf, "%-10s", names[view->list[i].kind]);
        utf8_append_printable(buf, view->list[i].path);
        buf_text(buf, "  (");
        utf8_append_printable(buf, view->list[i].why);
        buf_text(buf, ")\n");
    }
    buf_text(buf, "read-only /  (everything else)\n");
    buf_text(buf, landlock ? "shared    /tmp, /proc\n" : "private   /tmp, /dev, /proc\n");
    if (view->cut) {
        buf_printf(
            buf,
            "not all   only %u entries of the writable directories were looked at: denied names further "
            "on stay visible\n",
            VIEW_ENTRIES_MOST);
    }
    buf_text(buf,
             "not held  names that are made or replaced later from outside, and hard links made before\n");
}

char **view_arguments(struct view *view, const char *program, const char *network, bool landlock,
                      size_t extra, size_t *ret_count)
{
    static const char *const options[] = {"--hide", "--keep", "--write", "--freeze", NULL, NULL};
    char **list = arena_array(&view->arena, view->count * 2 + extra + 5, sizeof(*list));
    size_t count = 0;
    if (list == NULL) {
        return NULL;
    }
    list[count++] = (char *)program;
    for (size_t i = 0; i < view->count; i++) {
        const char *option = options[view->list[i].kind];
        if (option != NULL) {
            list[count++] = (char *)option;
            list[count++] = (char *)view->list[i].path.ptr;
        }
    }
    if (network != NULL) {
        list[count++] = (char *)network;
    }
    if (landlock) {
        list[count++] = (char *)"--landlock";
    }
    list[count++] = (char *)"--";
    *ret_count = count;
    return list;
}
