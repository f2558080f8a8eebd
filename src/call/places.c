/* One string of a call to its readings: its forms, its starts, both ways to take `..`, the other spellings of
 * the same file, and the prefixes below a tree. Equal canonical paths are one reading. */
#include <stdlib.h>

#include "base/random.h"
#include "call/internal.h"

/* Ceilings of one call's readings: what an operator's policy can ask for, not what a call may cost us. */
#define READINGS_MOST   ((size_t)8 << 20)
#define READINGS_MEMORY ((size_t)1 << 30)

/* What a large call took beyond this is given back before the next. */
#define KEPT_BYTES    ((size_t)1 << 20)
#define KEPT_READINGS ((size_t)1 << 13)

#define SLOTS_LEAST 64u

static const struct slice base_names[] = {{"cwd", 3}, {"workdir", 7}, {"repo_path", 9}};
#define BASE_NAMES (sizeof(base_names) / sizeof(*base_names))

bool is_base_name(struct slice name)
{
    for (size_t i = 0; i < BASE_NAMES; i++) {
        if (slice_eq(name, base_names[i])) {
            return true;
        }
    }
    return false;
}

bool call_grow(void **array, size_t count, size_t *cap, size_t size, size_t most)
{
    if (count < *cap) {
        return true;
    }
    size_t more = *cap == 0 ? 16 : *cap * 2;
    void *grown = count >= most ? NULL : realloc(*array, more * size);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *cap = more;
    return true;
}

/* ---- For a process, a call, a name ---- */

bool places_init(struct scratch *scratch)
{
    buf_init(&scratch->uri, LIMIT_MESSAGE_BYTES);
    return random_bytes(&scratch->seed, sizeof(scratch->seed));
}

void places_finish(struct scratch *scratch)
{
    buf_finish(&scratch->uri);
    free(scratch->slots);
    free(scratch->matches);
    free(scratch->now);
    free(scratch->ids);
}

void places_begin_call(struct scratch *scratch)
{
    struct readings *out = scratch->out;
    if (out->arena.total > KEPT_BYTES) {
        arena_finish(&out->arena);
        arena_init(&out->arena, READINGS_MEMORY);
    }
    arena_reset(&out->arena);
    if (out->cap > KEPT_READINGS) {
        free(out->list);
        out->list = NULL;
        out->cap = 0;
        free(scratch->slots);
        scratch->slots = NULL;
    }
    out->count = 0;
    scratch->top = scratch->home = (struct path_start){.usable = false};
    scratch->starts_made = false;
    scratch->now_made = false;
    scratch->work = 0;
    scratch->over = false;
}

void places_begin_name(struct scratch *scratch, uint16_t name)
{
    scratch->name = name;
    scratch->unreadable = false;
    scratch->other_paths = false;
    scratch->strings = 0;
    scratch->slots_used = 0;
    scratch->generation++;
    if (scratch->generation == 0 && scratch->slots != NULL) {
        memset(scratch->slots, 0, (scratch->slot_mask + 1) * sizeof(*scratch->slots));
    }
    if (scratch->generation == 0) {
        scratch->generation = 1;
    }
}

/* ---- The list, and equal paths once ---- */

bool places_append(struct scratch *scratch, struct reading reading)
{
    struct readings *out = scratch->out;
    void *list = out->list;
    if (!call_grow(&list, out->count, &out->cap, sizeof(reading), READINGS_MOST)) {
        return false;
    }
    out->list = list;
    out->list[out->count++] = reading;
    return true;
}

/* A polynomial over the prime 2^61 - 1 in a secret point: whoever writes the paths can't make them collide.
 */
static uint64_t hash_path(uint64_t seed, struct slice path)
{
    const uint64_t prime = ((uint64_t)1 << 61) - 1;
    uint64_t point = (seed & prime) | 1, hash = path.len;
    while (path.len > 0) {
        uint64_t word = 0;
        size_t part = path.len < 7 ? path.len : 7;
        memcpy(&word, path.ptr, part);
        path = slice_from(path, part);
        unsigned __int128 product = (unsigned __int128)hash * point;
        hash = (uint64_t)(product & prime) + (uint64_t)(product >> 61) + word;
        hash = (hash & prime) + (hash >> 61);
    }
    return (hash * point) * 0x9E3779B97F4A7C15u >> 16;
}

static void put_slot(struct slot *slots, size_t mask, struct slot slot)
{
    size_t at = slot.hash & mask;
    while (slots[at].generation == slot.generation) {
        at = (at + 1) & mask;
    }
    slots[at] = slot;
}

static bool grow_slots(struct scratch *scratch)
{
    size_t size = scratch->slots == NULL ? 0 : scratch->slot_mask + 1;
    if (scratch->slots_used < size / 2) {
        return true;
    }
    size_t more = size == 0 ? SLOTS_LEAST : size * 2;
    struct slot *slots = calloc(more, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (scratch->slots[i].generation == scratch->generation) {
            put_slot(slots, more - 1, scratch->slots[i]);
        }
    }
    free(scratch->slots);
    scratch->slots = slots;
    scratch->slot_mask = more - 1;
    return true;
}

/* The slot of the reading's path under the present name, which is added when new; NULL without memory. */
static struct slot *add_path(struct scratch *scratch, struct reading reading)
{
    if (!grow_slots(scratch)) {
        return NULL;
    }
    uint64_t hash = hash_path(scratch->seed, reading.path);
    size_t at = hash & scratch->slot_mask;
    struct slot *slot;
    while ((slot = &scratch->slots[at])->generation == scratch->generation) {
        if (slot->hash == hash && slice_eq(scratch->out->list[slot->reading].path, reading.path)) {
            return slot;
        }
        at = (at + 1) & scratch->slot_mask;
    }
    reading.path = arena_copy(&scratch->out->arena, reading.path);
    if (reading.path.ptr == NULL || !places_append(scratch, reading)) {
        return NULL;
    }
    scratch->slots_used++;
    *slot = (struct slot){
        .generation = scratch->generation,
        .reading = (uint32_t)(scratch->out->count - 1),
        .hash = hash,
    };
    return slot;
}

/* All unreadable readings of a name are judged alike: the first one stands for them. */
static bool add_unreadable(struct scratch *scratch, struct reading reading)
{
    if (scratch->unreadable) {
        return true;
    }
    scratch->unreadable = true;
    reading.kind = READING_UNREADABLE;
    reading.path = (struct slice){NULL, 0};
    return places_append(scratch, reading);
}

bool places_add_unreadable(struct scratch *scratch, struct origin origin)
{
    return add_unreadable(scratch, (struct reading){.name = scratch->name, .value = origin.value});
}

/* ---- Trees ---- */

static bool collect_id(void *context, uint32_t id)
{
    struct scratch *scratch = context;
    void *ids = scratch->ids;
    if (!call_grow(&ids, scratch->id_count, &scratch->id_cap, sizeof(*scratch->ids), READINGS_MOST)) {
        return false;
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

static bool add_below(struct scratch *scratch, struct reading reading)
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
        if (add_path(scratch, reading) == NULL) {
            return false;
        }
    }
    return true;
}

/* ---- The readings of one resolution ---- */

/* Adds what the workspace holds, its other spellings and, for a tree, the prefixes below any of them. */
static bool add_place(struct scratch *scratch, struct reading reading, bool tree)
{
    const struct path_resolved *place = scratch->out->workspace;
    if (!place->readable) {
        return add_unreadable(scratch, reading);
    }
    reading.kind = READING_PATH;
    reading.path = (struct slice){place->text, place->len};
    struct slot *slot = add_path(scratch, reading);
    if (slot == NULL) {
        return false;
    }
    tree = tree && !slot->expanded;
    if (slot->spelt && !tree) {
        return true;
    }
    slot->spelt = true;
    slot->expanded = slot->expanded || tree;
    scratch->id_count = 0;
    if (!same_files_find(scratch) ||
        (tree && !path_prefixes_below(scratch->prefixes, reading.path, collect_id, scratch))) {
        return false;
    }
    reading.via = READING_VIA_SAME_FILE;
    for (size_t i = 0; i < scratch->match_count; i++) {
        reading.path = same_file_spell(scratch, &scratch->matches[i]);
        if (reading.path.len > LIMIT_PATH_BYTES) {
            if (!add_unreadable(scratch, reading)) {
                return false;
            }
            continue;
        }
        if (add_path(scratch, reading) == NULL ||
            (tree && !path_prefixes_below(scratch->prefixes, reading.path, collect_id, scratch))) {
            return false;
        }
    }
    return add_below(scratch, reading);
}

/* ---- Starts ---- */

/* Keeps the state of the resolution that the workspace holds. */
static bool keep_walk(struct scratch *scratch, struct path_start *start)
{
    const struct path_resolved *place = scratch->out->workspace;
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
        return false;
    }
    memcpy(steps, place->steps, place->step_count * sizeof(*steps));
    start->steps = steps;
    return true;
}

/* Counts the work of the resolution that the workspace holds; false when the call is over the limit. */
static bool spend(struct scratch *scratch)
{
    scratch->work += scratch->out->workspace->work;
    scratch->over = scratch->over || scratch->work > LIMIT_CALL_WORK;
    return !scratch->over;
}

static bool walk_start(struct scratch *scratch, struct path_start *start)
{
    if (start->walked) {
        return true;
    }
    path_resolve(scratch->out->workspace, start->text, SLICE(""), PATH_KERNEL);
    return spend(scratch) && keep_walk(scratch, start);
}

static bool is_sound(struct slice text)
{
    return text.len <= LIMIT_PATH_BYTES && (text.len == 0 || memchr(text.ptr, '\0', text.len) == NULL);
}

/* From a text that is no absolute path, or is unsound, each relative string is unreadable. */
static struct path_start start_of(struct slice text)
{
    bool usable = is_sound(text) && text.len > 0 && text.ptr[0] == '/';
    return (struct path_start){.text = text, .usable = usable, .dotdot = usable && path_has_dotdot(text)};
}

/* Adds `text`, from `outer` unless that is empty, unless an earlier start has the same text. */
static bool add_start(struct scratch *scratch, struct slice outer, struct slice text)
{
    size_t joint = outer.len == 0 ? 0 : outer.len + 1;
    char *copy = arena_alloc(&scratch->out->arena, joint + text.len);
    if (copy == NULL) {
        return false;
    }
    if (joint > 0) {
        memcpy(copy, outer.ptr, outer.len);
        copy[outer.len] = '/';
    }
    if (text.len > 0) {
        memcpy(copy + joint, text.ptr, text.len);
    }
    struct path_start start = start_of((struct slice){copy, joint + text.len});
    for (size_t i = 0; i < scratch->start_count; i++) {
        if (slice_eq(scratch->starts[i].text, start.text)) {
            return true;
        }
    }
    scratch->starts[scratch->start_count++] = start;
    return true;
}

/* The working directory and the roots, then a base argument's text: from each of these if it is relative. */
static bool make_starts(struct scratch *scratch)
{
    const struct path_base *base = scratch->base;
    struct arena *arena = &scratch->out->arena;
    size_t own = 1 + base->root_count;
    scratch->starts = arena_array(arena, own * (1 + BASE_NAMES), sizeof(*scratch->starts));
    scratch->start_count = 0;
    if (scratch->starts == NULL) {
        return false;
    }
    for (size_t i = 0; i < own; i++) {
        if (!add_start(scratch, SLICE(""), i == 0 ? base->cwd : base->roots[i - 1])) {
            return false;
        }
    }
    own = scratch->start_count;
    for (size_t i = 0; i < BASE_NAMES; i++) {
        const struct json_value *value =
            json_get_slice(scratch->call->doc, scratch->call->input, base_names[i]);
        if (!json_is(value, JSON_STRING)) {
            continue;
        }
        struct slice text = json_str(value);
        bool absolute = text.len > 0 && text.ptr[0] == '/';
        for (size_t j = 0; j < (absolute ? 1 : own); j++) {
            if (!add_start(scratch, absolute ? SLICE("") : scratch->starts[j].text, text)) {
                return false;
            }
        }
    }
    scratch->starts_made = true;
    return true;
}

/* ---- Strings ---- */

/* The kernel's way from a start that was walked. */
static bool resolve_on(struct scratch *scratch, const struct path_start *start, struct slice text)
{
    struct path_resolved *place = scratch->out->workspace;
    if (!start->readable) {
        place->readable = false;
        return true;
    }
    path_resolve_on(place, start, text);
    return spend(scratch);
}

/* One form, sound, from one start, both ways. */
static bool add_from(struct scratch *scratch, struct reading reading, bool tree, struct path_start *start,
                     struct slice text)
{
    struct path_resolved *place = scratch->out->workspace;
    bool dotdot = start->dotdot || path_has_dotdot(text);
    reading.mode = PATH_TEXTUAL;
    if (!start->usable) {
        return add_unreadable(scratch, reading);
    }
    if (!walk_start(scratch, start) || !resolve_on(scratch, start, text)) {
        return false;
    }
    /* Where no link was followed, `..` took the same names away as it would in the text. */
    if (!dotdot || (place->readable && place->links == 0)) {
        return add_place(scratch, reading, tree);
    }
    path_resolve(place, start->text, text, PATH_TEXTUAL);
    if (!spend(scratch) || !add_place(scratch, reading, tree)) {
        return false;
    }
    reading.mode = PATH_KERNEL;
    return resolve_on(scratch, start, text) && add_place(scratch, reading, tree);
}

static bool add_absolute(struct scratch *scratch, struct reading reading, bool tree, struct slice text)
{
    if (!scratch->top.usable) {
        scratch->top = start_of(SLICE("/"));
    }
    return add_from(scratch, reading, tree, &scratch->top, text);
}

static bool add_relative(struct scratch *scratch, struct reading reading, bool tree, struct slice text)
{
    if (!scratch->starts_made && !make_starts(scratch)) {
        return false;
    }
    for (size_t i = 0; i < scratch->start_count; i++) {
        reading.start = scratch->starts[i].text;
        if (!add_from(scratch, reading, tree, &scratch->starts[i], text)) {
            return false;
        }
    }
    if (!path_is_home(text)) {
        return true;
    }
    if (scratch->home.text.ptr == NULL) {
        scratch->home = start_of(scratch->base->home);
    }
    reading.form = READING_FORM_HOME;
    reading.start = (struct slice){NULL, 0};
    return add_from(scratch, reading, tree, &scratch->home, path_below_home(text));
}

bool places_add_plain(struct scratch *scratch, struct origin origin, struct slice text)
{
    struct reading reading = {
        .name = scratch->name,
        .value = origin.value,
        .form = READING_FORM_WRITTEN,
    };
    if (!is_sound(text)) {
        return add_unreadable(scratch, reading);
    }
    if (text.len > 0 && text.ptr[0] == '/') {
        return add_absolute(scratch, reading, origin.tree, text);
    }
    return add_relative(scratch, reading, origin.tree, text);
}

bool places_add_uri(struct scratch *scratch, struct origin origin, struct slice text)
{
    struct reading reading = {
        .name = scratch->name,
        .value = origin.value,
        .form = READING_FORM_URI,
    };
    buf_reset(&scratch->uri);
    enum path_uri uri = path_decode_uri(text, &scratch->uri);
    if (!buf_ok(&scratch->uri)) {
        return false;
    }
    struct slice path = buf_slice_of(&scratch->uri);
    if (uri != PATH_URI_OK || !is_sound(path)) {
        return add_unreadable(scratch, reading);
    }
    return add_absolute(scratch, reading, origin.tree, path);
}
