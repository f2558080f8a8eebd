/* One string of a call to its places: its forms, its starts, both ways to take `..`, the other spellings of the same
 * file, and what lies below a tree. Equal canonical paths are one. */
#include <stdlib.h>
#include <string.h>

#include "call/internal.h"

/* ---- Sinks ---- */

void sink_finish(struct sink *sink)
{
    set_finish(&sink->set);
    free(sink->list);
    *sink = (struct sink){.list = NULL, .aside = sink->aside};
}

void sink_clear(struct sink *sink)
{
    if (sink->cap > SET_KEPT) {
        sink_finish(sink);
    }
    set_clear(&sink->set);
    sink->count = 0;
    sink->unreadable = false;
}

bool sink_append(struct scratch *scratch, struct sink *sink, struct reading reading)
{
    void *list = sink->list;
    if (sink->count == LIMIT_READINGS) {
        return call_over_limit(scratch, "16384 readings");
    }
    if (!call_grow(&list, sink->count, &sink->cap, sizeof(reading), LIMIT_READINGS)) {
        return call_no_memory(scratch);
    }
    sink->list = list;
    sink->list[sink->count++] = reading;
    return true;
}

/* Whether a path that is read aside was found for a later string, as path arguments were read: these are read before
 * the other strings, and the first string that names it has it. */
static bool comes_earlier(const struct scratch *scratch, const struct sink *sink,
                          const struct text_slot *slot, const struct reading *reading)
{
    return sink == &scratch->aside && slot->index < scratch->aside_split &&
           reading->value < sink->list[slot->index].value;
}

bool sink_add_path(struct scratch *scratch, struct sink *sink, struct reading reading,
                   struct text_slot **ret_slot)
{
    bool is_new;
    struct text_slot *slot = set_add(&sink->set, scratch->seed, &scratch->out->arena, reading.path, &is_new);
    if (slot == NULL) {
        return call_no_memory(scratch);
    }
    if (!is_new && comes_earlier(scratch, sink, slot, &reading)) {
        sink->list[slot->index].kind = READING_NO_PATH;
        *slot = (struct text_slot){.generation = slot->generation, .hash = slot->hash, .text = slot->text};
        is_new = true;
    }
    if (is_new) {
        slot->index = (uint32_t)sink->count;
        reading.kind = READING_PATH;
        reading.path = slot->text;
        if (!sink_append(scratch, sink, reading)) {
            return false;
        }
    }
    if (ret_slot != NULL) {
        *ret_slot = slot;
    }
    return true;
}

static bool add_unreadable(struct scratch *scratch, struct sink *sink, struct reading reading)
{
    if ((sink->aside && !reading.known) || sink->unreadable) {
        return true;
    }
    sink->unreadable = true;
    reading.kind = READING_UNREADABLE;
    reading.path = (struct slice){NULL, 0};
    return sink_append(scratch, sink, reading);
}

bool places_add_unreadable(struct scratch *scratch, const struct origin *origin)
{
    return add_unreadable(scratch, origin->to, (struct reading){.value = origin->value});
}

/* ---- What lies below a tree ---- */

static bool collect_id(void *context, uint32_t id)
{
    struct scratch *scratch = context;
    void *ids = scratch->ids;
    if (!call_grow(&ids, scratch->id_count, &scratch->id_cap, sizeof(*scratch->ids), LIMIT_RULES)) {
        return call_no_memory(scratch);
    }
    scratch->ids = ids;
    scratch->ids[scratch->id_count++] = id;
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* The prefixes that were collected. */
static bool add_prefixes(struct scratch *scratch, struct sink *sink, struct reading reading)
{
    reading.via = READING_VIA_TREE;
    if (scratch->id_count > 1) {
        qsort(scratch->ids, scratch->id_count, sizeof(*scratch->ids), compare_ids);
    }
    for (size_t i = 0; i < scratch->id_count; i++) {
        if (i > 0 && scratch->ids[i] == scratch->ids[i - 1]) {
            continue;
        }
        reading.path = scratch->prefixes->list[scratch->ids[i] - 1].path;
        if (!sink_add_path(scratch, sink, reading, NULL)) {
            return false;
        }
    }
    return true;
}

struct entry_target {
    struct scratch *scratch;
    struct sink *sink;
    struct reading reading;
};

static bool add_entry(void *context, struct slice path)
{
    struct entry_target *target = context;
    target->reading.path = path;
    return sink_add_path(target->scratch, target->sink, target->reading, NULL);
}

static bool add_entries(struct scratch *scratch, struct sink *sink, struct reading reading,
                        const struct tree_ask *tree)
{
    const struct reading_interest *interest = scratch->interest;
    if (interest == NULL || interest->component_count == 0) {
        return true;
    }
    if (scratch->components == NULL) {
        scratch->components = path_names_create(interest->components, interest->component_count);
        if (scratch->components == NULL) {
            return call_no_memory(scratch);
        }
    }
    reading.via = READING_VIA_ENTRY;
    struct entry_target target = {scratch, sink, reading};
    const struct path_ask ask = {
        .names = scratch->components,
        .filters = tree->filters,
        .filter_count = tree->filter_count,
        .hidden = tree->hidden,
        .deep = true,
        .found = add_entry,
        .context = &target,
    };
    size_t *left = &scratch->entries_left[sink == &scratch->paths ? 0 : sink == &scratch->aside ? 2 : 1];
    size_t before = *left;
    scratch->fault = READINGS_OK;
    enum path_walk walk = path_walk_entries(scratch->walker, reading.path, &ask, left);
    if (walk != PATH_WALK_FAILED && !call_spend(scratch, 64 + (before - *left) * 4)) {
        return false;
    }
    switch (walk) {
    case PATH_WALK_OK:
        return true;
    case PATH_WALK_OVER:
        reading.known = tree->noted;
        return add_unreadable(scratch, sink, reading);
    case PATH_WALK_FAILED:
        break;
    }
    return scratch->fault == READINGS_OK ? call_no_memory(scratch) : false;
}

/* ---- The places of one resolution ---- */

static bool is_directory(const struct path_resolved *place)
{
    return place->exists && place->steps[place->step_count - 1].directory;
}

/* A prefix that is the same file as a step of the path in the workspace, with the rest of that path: in
 * scratch->spelt, and perhaps too long for a path. */
static struct slice spell(struct scratch *scratch, const struct path_same *same)
{
    const struct path_resolved *place = scratch->workspace;
    struct slice prefix = scratch->prefixes->list[same->prefix - 1].path;
    size_t end = place->steps[same->step].end;
    struct slice rest = {place->text + end, place->len - end};
    if (end == 1 && place->len > 1) {
        rest = (struct slice){place->text, place->len};
    }
    if (prefix.len == 1 && rest.len > 0) {
        prefix.len = 0;
    }
    memcpy(scratch->spelt, prefix.ptr, prefix.len);
    if (rest.len > 0) {
        memcpy(scratch->spelt + prefix.len, rest.ptr, rest.len);
    }
    return (struct slice){scratch->spelt, prefix.len + rest.len};
}

/* Adds the other spellings of what the workspace holds and, if `below`, collects the prefixes below them. */
static bool add_spellings(struct scratch *scratch, const struct origin *origin, struct reading reading,
                          bool spelt, bool below)
{
    const struct path_same *same;
    size_t count;
    if (!path_files_find(scratch->files, scratch->workspace, &same, &count)) {
        return call_no_memory(scratch);
    }
    reading.via = READING_VIA_SAME_FILE;
    for (size_t i = 0; i < count; i++) {
        reading.path = spell(scratch, &same[i]);
        if (reading.path.len > LIMIT_PATH_BYTES) {
            if (!add_unreadable(scratch, origin->to, reading)) {
                return false;
            }
            continue;
        }
        if ((!spelt && !sink_add_path(scratch, origin->to, reading, NULL)) ||
            (below && !path_prefixes_below(scratch->prefixes, reading.path, collect_id, scratch))) {
            return false;
        }
    }
    return true;
}

/* Where what is read aside of a string goes; NULL: nowhere. */
static struct sink *aside_of(const struct origin *origin)
{
    return origin->to->aside ? origin->to : origin->aside;
}

/* The name of a link itself, not what it leads to. */
static bool add_link(struct scratch *scratch, const struct origin *origin, struct reading reading)
{
    const struct path_resolved *place = scratch->workspace;
    reading.path = (struct slice){place->link, place->link_len};
    reading.via = READING_VIA_LINK;
    return sink_add_path(scratch, aside_of(origin), reading, NULL);
}

/* Adds what the workspace holds, its other spellings and, for a tree, what lies below. */
static bool add_place(struct scratch *scratch, const struct origin *origin, struct reading reading)
{
    const struct path_resolved *place = scratch->workspace;
    struct text_slot *slot;
    if (place->link_len > 0 && aside_of(origin) != NULL && !add_link(scratch, origin, reading)) {
        return false;
    }
    if (!place->readable) {
        return add_unreadable(scratch, origin->to, reading);
    }
    scratch->exists = scratch->exists || place->exists;
    reading.path = (struct slice){place->text, place->len};
    if (!sink_add_path(scratch, origin->to, reading, &slot)) {
        return false;
    }
    reading.path = slot->text;
    if (origin->to == &scratch->paths && scratch->needs.aside_paths && !slot->spelt && is_directory(place) &&
        !starts_add(scratch, &scratch->directories, SLICE(""), reading.path)) {
        return false;
    }
    bool spelt = slot->spelt;
    bool tree = origin->tree != NULL && !slot->prefixes;
    bool entries = origin->tree != NULL && origin->tree->entries && !slot->entries;
    bool aside_tree = origin->tree == NULL && origin->aside_tree != NULL && aside_of(origin) != NULL &&
                      !slot->aside_tree && (origin->aside_tree->absent || is_directory(place));
    slot->spelt = true;
    slot->prefixes = slot->prefixes || tree;
    slot->entries = slot->entries || (entries && origin->tree->filter_count == 0);
    slot->aside_tree = slot->aside_tree || aside_tree;
    scratch->id_count = 0;
    if (spelt && !tree && !aside_tree && !entries) {
        return true;
    }
    bool below = tree || aside_tree;
    if ((below && !path_prefixes_below(scratch->prefixes, reading.path, collect_id, scratch)) ||
        !add_spellings(scratch, origin, reading, spelt, below)) {
        return false;
    }
    struct sink *sink = aside_tree ? aside_of(origin) : origin->to;
    const struct tree_ask *ask = aside_tree ? origin->aside_tree : origin->tree;
    entries = entries || (aside_tree && ask->entries);
    return add_prefixes(scratch, sink, reading) && (!entries || add_entries(scratch, sink, reading, ask));
}

/* ---- One form from one start ---- */

/* The kernel's way from a start that was walked. */
static bool resolve_on(struct scratch *scratch, const struct path_start *start, struct slice text)
{
    struct path_resolved *place = scratch->workspace;
    if (path_is_here(text)) { /* the start itself may be a link, whose name counts wherever it leads */
        path_resolve(place, start->text, text, PATH_KERNEL);
    } else if (!start->readable) {
        place->readable = false;
        place->link_len = 0;
        return true;
    } else {
        path_resolve_on(place, start, text);
    }
    return call_spend(scratch, place->work);
}

static bool add_from(struct scratch *scratch, const struct origin *origin, struct reading reading,
                     struct path_start *start, struct slice text)
{
    struct path_resolved *place = scratch->workspace;
    reading.mode = PATH_TEXTUAL;
    if (!start->usable || text.len > LIMIT_PATH_BYTES) {
        return add_unreadable(scratch, origin->to, reading);
    }
    bool dotdot = start->dotdot || path_has_dotdot(text);
    if (!start_walk(scratch, start) || !resolve_on(scratch, start, text)) {
        return false;
    }
    /* Where no link was followed, `..` took the same names away as it would in the text. */
    if (!dotdot || (place->readable && place->links == 0)) {
        return add_place(scratch, origin, reading);
    }
    path_resolve(place, start->text, text, PATH_TEXTUAL);
    if (!call_spend(scratch, place->work) || !add_place(scratch, origin, reading)) {
        return false;
    }
    reading.mode = PATH_KERNEL;
    return resolve_on(scratch, start, text) && add_place(scratch, origin, reading);
}

static bool add_absolute(struct scratch *scratch, const struct origin *origin, struct reading reading,
                         struct slice text)
{
    if (!scratch->top.usable) {
        scratch->top = start_of(SLICE("/"));
    }
    return add_from(scratch, origin, reading, &scratch->top, text);
}

static bool may_be_there(const struct path_resolved *place)
{
    return !place->readable || place->exists || place->link_len > 0;
}

/* Whether a start holds an entry that is named `~`, in either way to take its `..`; where it cannot be told, it does. */
static bool holds_tilde(struct scratch *scratch, struct path_start *start, bool *ret_holds)
{
    struct path_resolved *place = scratch->workspace;
    *ret_holds = true;
    if (!start->usable) {
        return true;
    }
    if (!start_walk(scratch, start) || !resolve_on(scratch, start, SLICE("~"))) {
        return false;
    }
    *ret_holds = may_be_there(place);
    if (*ret_holds || !start->dotdot || start->links == 0) {
        return true;
    }
    path_resolve(place, start->text, SLICE("~"), PATH_TEXTUAL);
    *ret_holds = may_be_there(place);
    return call_spend(scratch, place->work);
}

static bool add_relative(struct scratch *scratch, const struct origin *origin, struct reading reading,
                         struct starts *starts, struct slice text)
{
    bool tilde = path_is_home(text);
    for (size_t i = 0; i < starts->count; i++) {
        struct origin plain = *origin;
        bool holds = true;
        if (tilde && !origin->to->aside && scratch->interest != NULL &&
            !holds_tilde(scratch, &starts->list[i], &holds)) {
            return false;
        }
        if (!holds && origin->aside == NULL) {
            continue;
        }
        plain.to = holds ? origin->to : origin->aside;
        reading.start = starts->list[i].text;
        if (!add_from(scratch, &plain, reading, &starts->list[i], text)) {
            return false;
        }
    }
    return true;
}

/* ---- The forms of a string ---- */

static bool add_home(struct scratch *scratch, const struct origin *origin, struct reading reading,
                     struct slice text)
{
    reading.form = READING_FORM_HOME;
    if (scratch->home.text.ptr == NULL) {
        scratch->home = start_of(scratch->base->home);
    }
    if (!add_from(scratch, origin, reading, &scratch->home, path_below_home(text))) {
        return false;
    }
    if (scratch->base->server_home.len == 0 || aside_of(origin) == NULL) {
        return true;
    }
    if (scratch->server_home.text.ptr == NULL) {
        scratch->server_home = start_of(scratch->base->server_home);
    }
    const struct origin servers = {.value = origin->value, .to = aside_of(origin)};
    return add_from(scratch, &servers, reading, &scratch->server_home, path_below_home(text));
}

/* Below the home directory of the user that a text names. */
static bool add_user_home(struct scratch *scratch, const struct origin *origin, struct reading reading,
                          struct slice text)
{
    struct slice user, rest;
    if (aside_of(origin) == NULL || !path_is_user_home(text, &user, &rest)) {
        return true;
    }
    buf_reset(&scratch->user);
    if (!call_spend(scratch, 256)) {
        return false;
    }
    if (!path_user_home(user, &scratch->user)) {
        return buf_ok(&scratch->user) || call_no_memory(scratch);
    }
    struct path_start start = start_of(arena_copy(&scratch->out->arena, buf_slice_of(&scratch->user)));
    if (start.text.ptr == NULL) {
        return call_no_memory(scratch);
    }
    reading.form = READING_FORM_USER_HOME;
    const struct origin users = {.value = origin->value, .to = aside_of(origin)};
    return add_from(scratch, &users, reading, &start, rest);
}

struct form {
    enum reading_form form;
    struct slice text;
};

#define FORMS_MOST 3

static struct slice keep_form(struct slice text, char *room, size_t size)
{
    if (text.len > size) {
        text.len = size; /* too long for a path in any case */
    }
    memcpy(room, text.ptr, text.len);
    return (struct slice){room, text.len};
}

/* The text as written, and its normal forms where they differ from that. */
static size_t find_forms(struct scratch *scratch, enum reading_form written, struct slice text,
                         struct form forms[FORMS_MOST])
{
    size_t count = 1;
    struct slice form;
    forms[0] = (struct form){written, text};
    if (path_is_ascii(text)) {
        return count;
    }
    if (path_normal_form(scratch->unicode, text, PATH_NORMAL_NFC, &form)) {
        forms[count++] = (struct form){READING_FORM_NFC, keep_form(form, scratch->nfc, sizeof(scratch->nfc))};
    }
    if (path_normal_form(scratch->unicode, text, PATH_NORMAL_NFD, &form) &&
        !(count > 1 && slice_eq(form, forms[1].text))) {
        forms[count++] = (struct form){READING_FORM_NFD, keep_form(form, scratch->nfd, sizeof(scratch->nfd))};
    }
    return count;
}

static bool is_sound(struct slice text)
{
    return text.len <= LIMIT_PATH_BYTES && (text.len == 0 || memchr(text.ptr, '\0', text.len) == NULL);
}

bool places_add_plain(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                      struct slice text)
{
    struct reading reading = {.value = origin->value};
    struct form forms[FORMS_MOST];
    if (!is_sound(text)) {
        return add_unreadable(scratch, origin->to, reading);
    }
    bool absolute = text.len > 0 && text.ptr[0] == '/';
    enum reading_form written = origin->form == READING_FORM_NONE ? READING_FORM_WRITTEN : origin->form;
    size_t count = find_forms(scratch, written, text, forms);
    if (count > 1 && !call_spend(scratch, text.len * 2)) {
        return false;
    }
    for (size_t i = 0; i < count && !origin->home_only; i++) {
        reading.form = (uint8_t)forms[i].form;
        if (absolute ? !add_absolute(scratch, origin, reading, forms[i].text)
                     : !add_relative(scratch, origin, reading, starts, forms[i].text)) {
            return false;
        }
    }
    reading.start = (struct slice){NULL, 0};
    for (size_t i = 0; i < count && path_is_home(text); i++) {
        if (!add_home(scratch, origin, reading, forms[i].text)) {
            return false;
        }
    }
    return text.len == 0 || text.ptr[0] != '~' || origin->home_only ||
           add_user_home(scratch, origin, reading, text);
}

bool places_add_absolute(struct scratch *scratch, const struct origin *origin, enum reading_form form,
                         struct slice text)
{
    struct reading reading = {.value = origin->value};
    struct form forms[FORMS_MOST];
    if (!is_sound(text)) {
        return add_unreadable(scratch, origin->to, reading);
    }
    size_t count = find_forms(scratch, form, text, forms);
    for (size_t i = 0; i < count; i++) {
        reading.form = (uint8_t)forms[i].form;
        if (!add_absolute(scratch, origin, reading, forms[i].text)) {
            return false;
        }
    }
    return count == 1 || call_spend(scratch, text.len * 2);
}

bool places_add_uri(struct scratch *scratch, const struct origin *origin, struct slice text)
{
    buf_reset(&scratch->uri);
    enum path_uri uri = path_decode_uri(text, &scratch->uri);
    if (!buf_ok(&scratch->uri)) {
        return call_no_memory(scratch);
    }
    if (uri != PATH_URI_OK) {
        return add_unreadable(scratch, origin->to,
                              (struct reading){.value = origin->value, .form = READING_FORM_URI});
    }
    return places_add_absolute(scratch, origin, READING_FORM_URI, buf_slice_of(&scratch->uri));
}
