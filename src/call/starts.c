/* Where relative strings of a call start: the working directory, the roots of the server, and its bases. */
#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "call/internal.h"

#define STARTS_MOST 4096u

/* In the order in which their readings stand. */
static const struct slice base_names[] = {
    {"cwd", 3},          {"workdir", 7},  {"working_directory", 17}, {"workingDirectory", 16},
    {"working_dir", 11}, {"dir_path", 8}, {"repo_path", 9},
};
#define BASE_NAMES (sizeof(base_names) / sizeof(*base_names))

void starts_clear(struct starts *starts)
{
    starts->count = 0;
    set_clear(&starts->set);
}

void starts_finish(struct starts *starts)
{
    free(starts->list);
    set_finish(&starts->set);
    *starts = (struct starts){.list = NULL};
}

static bool is_sound(struct slice text)
{
    return text.len <= LIMIT_PATH_BYTES && (text.len == 0 || memchr(text.ptr, '\0', text.len) == NULL);
}

/* From a text that is no absolute path, or is unsound, each relative string is unreadable. */
struct path_start start_of(struct slice text)
{
    bool usable = is_sound(text) && text.len > 0 && text.ptr[0] == '/';
    return (struct path_start){.text = text, .usable = usable, .dotdot = usable && path_has_dotdot(text)};
}

bool start_walk(struct scratch *scratch, struct path_start *start)
{
    const struct path_resolved *place = scratch->workspace;
    if (start->walked) {
        return true;
    }
    path_resolve(scratch->workspace, start->text, SLICE(""), PATH_KERNEL);
    if (!call_spend(scratch, place->work)) {
        return false;
    }
    start->walked = true;
    start->readable = place->readable;
    if (!place->readable) {
        return true;
    }
    start->links = place->links;
    start->step_count = place->step_count;
    start->canonical = arena_copy(&scratch->out->arena, (struct slice){place->text, place->len});
    struct path_step *steps = arena_array(&scratch->out->arena, place->step_count, sizeof(*steps));
    if (start->canonical.ptr == NULL || steps == NULL) {
        return call_no_memory(scratch);
    }
    memcpy(steps, place->steps, place->step_count * sizeof(*steps));
    start->steps = steps;
    return true;
}

bool starts_add(struct scratch *scratch, struct starts *starts, struct slice outer, struct slice text)
{
    size_t joint = outer.len == 0 ? 0 : outer.len + 1;
    char *joined = arena_alloc(&scratch->out->arena, joint + text.len + 1);
    bool is_new;
    if (joined == NULL) {
        return call_no_memory(scratch);
    }
    if (joint > 0) {
        memcpy(joined, outer.ptr, outer.len);
        joined[outer.len] = '/';
    }
    if (text.len > 0) {
        memcpy(joined + joint, text.ptr, text.len);
    }
    struct text_slot *slot = set_add(&starts->set, scratch->seed, &scratch->out->arena,
                                     (struct slice){joined, joint + text.len}, &is_new);
    void *list = starts->list;
    if (slot == NULL) {
        return call_no_memory(scratch);
    }
    if (!is_new) {
        return true;
    }
    if (starts->count == STARTS_MOST) {
        return call_over_limit(scratch, "starts of relative paths");
    }
    if (!call_grow(&list, starts->count, &starts->cap, sizeof(*starts->list), STARTS_MOST)) {
        return call_no_memory(scratch);
    }
    starts->list = list;
    starts->list[starts->count++] = start_of(slot->text);
    return true;
}

bool starts_add_text(struct scratch *scratch, struct starts *starts, size_t own, struct slice text)
{
    const struct slice none = {"", 0};
    if (text.len > 0 && text.ptr[0] == '/') {
        return starts_add(scratch, starts, none, text);
    }
    for (size_t i = 0; i < own; i++) {
        if (!starts_add(scratch, starts, starts->list[i].text, text)) {
            return false;
        }
    }
    return true;
}

bool starts_add_meant(struct scratch *scratch, struct starts *starts, struct slice text)
{
    if (path_is_home(text)) {
        return starts_add(scratch, starts, scratch->base->home, path_below_home(text));
    }
    if (!path_is_uri(text)) {
        return true;
    }
    buf_reset(&scratch->uri);
    enum path_uri uri = path_decode_uri(text, &scratch->uri);
    if (!buf_ok(&scratch->uri)) {
        return call_no_memory(scratch);
    }
    return uri != PATH_URI_OK || starts_add(scratch, starts, SLICE(""), buf_slice_of(&scratch->uri));
}

static void find_bases(struct scratch *scratch, const struct json_value *bases[BASE_NAMES])
{
    const struct call *call = scratch->call;
    const struct json_value *key;
    for (key = json_first(call->doc, call->input); key != NULL;
         key = json_right(call->doc, call->input, key)) {
        if ((name_classes(&scratch->names, json_str(key)) & NAME_BASE) == 0) {
            continue;
        }
        for (size_t i = 0; i < BASE_NAMES; i++) {
            if (fold_eq(base_names[i], json_str(key))) {
                bases[i] = json_member_value(key);
            }
        }
    }
}

/* The working directory and the roots, then a base argument's text: from each of these if it is relative. */
bool starts_of_call(struct scratch *scratch, struct starts **ret_starts)
{
    const struct path_base *base = scratch->base;
    struct starts *starts = &scratch->starts;
    const struct json_value *bases[BASE_NAMES] = {NULL};
    *ret_starts = starts;
    if (scratch->starts_made) {
        return true;
    }
    starts_clear(starts);
    for (size_t i = 0; i <= base->root_count; i++) {
        if (!starts_add(scratch, starts, SLICE(""), i == 0 ? base->cwd : base->roots[i - 1])) {
            return false;
        }
    }
    size_t own = starts->count;
    find_bases(scratch, bases);
    for (size_t i = 0; i < BASE_NAMES; i++) {
        if (json_is(bases[i], JSON_STRING) && !starts_add_text(scratch, starts, own, json_str(bases[i]))) {
            return false;
        }
    }
    scratch->starts_made = true;
    return true;
}
