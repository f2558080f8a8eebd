/* Which places a confined program can write to, and which not: what the command line and the documents name. */
#include <limits.h>
#include <stdlib.h>

#include "cli/confine/places_internal.h"
#include "document/places.h"
#include "policy/policy.h"

struct named_list {
    struct options *options;
    struct view_named *list;
    size_t count, cap;
};

static bool add(struct named_list *named, const char *path, bool there, struct slice why)
{
    struct arena *arena = &named->options->arena;
    if (named->count == named->cap) {
        size_t cap = named->cap > 0 ? named->cap * 2 : 16;
        struct view_named *list = arena_array(arena, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        for (size_t i = 0; i < named->count; i++) {
            list[i] = named->list[i];
        }
        named->list = list;
        named->cap = cap;
    }
    struct view_named place = {arena_copy(arena, slice_of(path)), arena_copy(arena, why).ptr, there};
    named->list[named->count++] = place;
    return place.path.ptr != NULL && place.why != NULL;
}

/* Adds a place by its canonical name if it is there, else by the one that was written. `must`: it has to be
 * there. */
static bool add_place(struct named_list *named, struct slice start, struct slice rest, struct slice why,
                      bool must)
{
    char real[PATH_MAX];
    struct buf text;
    buf_init(&text, (size_t)2 * PATH_MAX);
    if (rest.len == 0 || rest.ptr[0] != '/') {
        buf_slice(&text, start);
        buf_text(&text, rest.len > 0 ? "/" : "");
    }
    buf_slice(&text, rest);
    buf_byte(&text, '\0');
    bool ok = buf_ok(&text), there = ok && realpath(text.ptr, real) != NULL;
    if (!ok || (must && !there)) {
        say("%s cannot be made writable: it is not there", ok ? text.ptr : "a path that is too long");
        ok = false;
    } else if (!add(named, there ? real : text.ptr, there, why)) {
        say("no memory");
        ok = false;
    }
    buf_finish(&text);
    return ok;
}

/* Adds what a name such as @cache stands for. `from` begins what people are told of it. */
static bool add_named(struct named_list *named, struct slice name, struct slice from)
{
    struct buf why;
    bool ok = true;
    buf_init(&why, (size_t)64 << 10);
    for (size_t i = 0; ok && i < named_place_count; i++) {
        if (slice_is(name, named_places[i].name)) {
            buf_reset(&why);
            buf_slice(&why, from);
            buf_printf(&why, " %s: %s", named_places[i].name, named_places[i].why);
            ok = buf_ok(&why) && add_place(named, named->options->base.home, slice_of(named_places[i].path),
                                           buf_slice_of(&why), false);
        }
    }
    buf_finish(&why);
    return ok;
}

static bool add_written(struct named_list *named, struct slice text, struct slice why, bool must)
{
    const struct path_base *base = &named->options->base;
    if (path_is_home(text)) {
        return add_place(named, base->home, path_below_home(text), why, must);
    }
    return add_place(named, base->cwd, text, why, must);
}

/* What --write names: a directory, which must be there, or a name with its @. */
static bool add_from_options(struct named_list *named, const struct confine_options *own)
{
    bool ok = true;
    for (size_t i = 0; ok && i < own->writable.count; i++) {
        struct slice text = slice_of(own->writable.items[i]);
        if (text.len > 0 && text.ptr[0] == '@') {
            if (!named_place_is(text)) {
                struct buf names;
                buf_init(&names, 4096);
                named_places_write(&names);
                say("--write %s is no place that has a name; these have one: %.*s", text.ptr,
                    SLICE_FMT(buf_slice_of(&names)));
                buf_finish(&names);
                return false;
            }
            ok = add_named(named, text, SLICE("--write"));
        } else {
            ok = add_written(named, text, SLICE("named by --write"), true);
        }
    }
    return ok;
}

/* What documents say, of what can be written to or of what not. What is not there is passed over, because a policy is
 * for more than one machine. */
static bool add_from_documents(struct named_list *named, const struct policy *policy, bool writes)
{
    struct buf why;
    bool ok = true;
    buf_init(&why, (size_t)64 << 10);
    for (uint32_t i = 0; ok && i < policy->confine_count; i++) {
        const struct policy_confine *place = &policy->confine[i];
        struct slice text = policy_text(policy, place->place);
        if (place->writes != writes) {
            continue;
        }
        buf_reset(&why);
        buf_slice(&why, policy->files[place->file].name);
        buf_text(&why, writes ? " says so: confine.write" : " says so: confine.read");
        ok = buf_ok(&why) &&
             (writes && named_place_is(text) ? add_named(named, text, buf_slice_of(&why))
                                             : add_written(named, text, buf_slice_of(&why), false));
    }
    buf_finish(&why);
    return ok;
}

bool confine_find_places(struct options *options, const struct confine_options *own,
                         const struct policy *policy, struct view_options *ret_options)
{
    struct named_list writable = {.options = options}, read = {.options = options};
    bool ok = add_place(&writable, options->base.cwd, SLICE(""), SLICE("the working directory"), true) &&
              add_from_options(&writable, own);
    for (size_t i = 0; ok && i < options->base.root_count; i++) {
        ok = add_written(&writable, options->base.roots[i], SLICE("a directory that is served (--root)"),
                         true);
    }
    ok = ok && add_from_documents(&writable, policy, true) && add_from_documents(&read, policy, false);
    ret_options->writable = writable.list;
    ret_options->writable_count = writable.count;
    ret_options->read = read.list;
    ret_options->read_count = read.count;
    return ok;
}
