/* Claude Code's path patterns are gitignore's, with four starts: `//path` the root, `~/path` the home
 * directory, `/path` where the settings belong, `path` and `./path` the working directory. A match has one
 * prefix and one component with one `*`: enough for most, and for a superset of all. */
#include "import/path_pattern_internal.h"

#include <stdint.h>
#include <string.h>

#define COMPONENTS_MOST 256u

enum start {
    START_ROOT,
    START_HOME,
    START_SOURCE,
    START_WORKING,
};

enum kind {
    KIND_LITERAL,
    KIND_STARRED, /* one `*` at its start or its end, and more: a pathComponent can say it */
    KIND_DOUBLE,  /* two stars: any directories, or none */
    KIND_OTHER,
};

struct component {
    enum kind kind;
    struct slice text; /* a literal's without escapes */
};

struct pattern {
    enum start start;
    struct component list[COMPONENTS_MOST];
    size_t count;
    bool all_below; /* ended in two stars, which were taken off */
    bool only_directory;
    bool upward; /* has `..` */
};

/* ---- Reading ---- */

/* Takes one component's escapes away and tells what it is. */
static bool read_component(struct slice text, struct arena *arena, struct component *ret)
{
    char *plain = arena_alloc(arena, text.len + 1);
    size_t len = 0, stars = 0, star_at = 0;
    bool other = false, literal_star = false;
    if (plain == NULL) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool escaped = c == '\\' && i + 1 < text.len;
        if (escaped) {
            c = text.ptr[++i];
            /* Rules have escapes of their own beside gitignore's: what two backslashes are is not sure. */
            other = other || c == '\\';
            literal_star = literal_star || c == '*';
        } else if (c == '*') {
            stars++;
            star_at = len;
        } else if (c == '?' || c == '[' || c == '\\') {
            other = true;
        }
        plain[len++] = c;
    }
    ret->text = (struct slice){plain, len};
    if (slice_is(text, "**")) {
        ret->kind = KIND_DOUBLE;
    } else if (other || stars > 1 || (stars == 1 && (len == 1 || literal_star))) {
        ret->kind = KIND_OTHER;
    } else if (stars == 0) {
        ret->kind = KIND_LITERAL;
    } else {
        ret->kind = star_at == 0 || star_at + 1 == len ? KIND_STARRED : KIND_OTHER;
    }
    return true;
}

static struct slice take_start(struct slice pattern, enum start *ret_start)
{
    static const struct {
        const char *text;
        enum start start;
    } starts[] = {
        {"//", START_ROOT},
        {"~/", START_HOME},
        {"/", START_SOURCE},
        {"./", START_WORKING},
    };
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        if (slice_starts_with(pattern, slice_of(starts[i].text))) {
            *ret_start = starts[i].start;
            return slice_from(pattern, strlen(starts[i].text));
        }
    }
    *ret_start = slice_is(pattern, "~") ? START_HOME : START_WORKING;
    return slice_is(pattern, "~") ? slice_from(pattern, 1) : pattern;
}

static bool read_pattern(struct slice pattern, struct arena *arena, struct pattern *ret)
{
    struct slice rest = take_start(pattern, &ret->start);
    ret->only_directory = rest.len > 0 && rest.ptr[rest.len - 1] == '/';
    while (rest.len > 0) {
        const char *slash = memchr(rest.ptr, '/', rest.len);
        struct slice text = {rest.ptr, slash != NULL ? (size_t)(slash - rest.ptr) : rest.len};
        rest = slash != NULL ? slice_from(rest, text.len + 1) : (struct slice){rest.ptr, 0};
        if (text.len == 0 || slice_is(text, ".")) {
            continue;
        }
        ret->upward = ret->upward || slice_is(text, "..");
        if (ret->count == COMPONENTS_MOST || !read_component(text, arena, &ret->list[ret->count])) {
            return false;
        }
        ret->count++;
    }
    while (ret->count > 0 && ret->list[ret->count - 1].kind == KIND_DOUBLE) {
        ret->count--;
        ret->all_below = true;
    }
    return true;
}

/* ---- Saying ---- */

static size_t literals(const struct pattern *pattern)
{
    size_t count = 0;
    while (count < pattern->count && pattern->list[count].kind == KIND_LITERAL) {
        count++;
    }
    return count;
}

/* The start and the first `count` components as a prefix. False when the start is not known. */
static bool write_prefix(const struct pattern *pattern, size_t count, const struct import_places *places,
                         struct arena *arena, struct slice *ret)
{
    struct slice start = pattern->start == START_ROOT     ? SLICE("")
                         : pattern->start == START_HOME   ? SLICE("~")
                         : pattern->start == START_SOURCE ? places->source
                                                          : places->working;
    if (pattern->start == START_WORKING && start.ptr == NULL) {
        start = SLICE(".");
    }
    if (start.ptr == NULL) {
        return false;
    }
    struct buf text;
    buf_init(&text, 1u << 20);
    buf_slice(&text, slice_is(start, "/") ? SLICE("") : start);
    for (size_t i = 0; i < count; i++) {
        buf_byte(&text, '/');
        buf_slice(&text, pattern->list[i].text);
    }
    if (text.len == 0) {
        buf_byte(&text, '/');
    }
    *ret = buf_ok(&text) ? arena_copy(arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    return ret->ptr != NULL;
}

static bool can_be_component(const struct component *component)
{
    struct slice text = component->text;
    if (component->kind == KIND_STARRED) {
        return true;
    }
    return component->kind == KIND_LITERAL && !slice_is(text, "..") &&
           memchr(text.ptr, '*', text.len) == NULL;
}

/* Any path that the pattern covers has, for each of its components but the double stars, one that is like
 * it: so each alone gives a superset. The last says most. */
static bool last_component(const struct pattern *pattern, size_t from, struct slice *ret)
{
    for (size_t i = pattern->count; i > from; i--) {
        if (can_be_component(&pattern->list[i - 1])) {
            *ret = pattern->list[i - 1].text;
            return true;
        }
    }
    return false;
}

/* A name alone stands for every file and directory of this name below the working directory. */
static bool floats(const struct pattern *pattern)
{
    return pattern->start == START_WORKING && pattern->count > 0 &&
           (pattern->count == 1 || pattern->list[0].kind == KIND_DOUBLE);
}

/* Whether a component of a path is like a pathComponent. */
static bool has_like(struct slice path, struct slice component)
{
    bool at_start = component.ptr[0] == '*', at_end = component.ptr[component.len - 1] == '*';
    struct slice fixed = {component.ptr + at_start, component.len - at_start - at_end};
    while (path.len > 0) {
        const char *slash = memchr(path.ptr, '/', path.len);
        struct slice text = {path.ptr, slash != NULL ? (size_t)(slash - path.ptr) : path.len};
        path = slice_from(path, text.len + (slash != NULL));
        if (at_start ? slice_ends_with(text, fixed)
            : at_end ? slice_starts_with(text, fixed)
                     : slice_eq(text, fixed)) {
            return true;
        }
    }
    return false;
}

static const char *note_of_start(const struct pattern *pattern, const struct import_places *places)
{
    return pattern->start == START_WORKING && places->working.ptr == NULL
               ? "from the working directory in which the policy is loaded"
               : "";
}

static enum import_path_result say_more(const struct pattern *pattern, const struct import_places *places,
                                        struct arena *arena, struct import_path *ret)
{
    size_t head = floats(pattern) ? 0 : literals(pattern);
    bool whole = head == pattern->count, lost = false;
    /* Without a known start the name stands for itself anywhere. */
    bool anywhere = floats(pattern) && places->working.ptr == NULL;
    if (!anywhere && !write_prefix(pattern, head, places, arena, &ret->prefix)) {
        anywhere = lost = true;
    }
    if (lost) {
        head = 0;
    }
    bool has_component = (!whole || lost) && last_component(pattern, head, &ret->component);
    if (anywhere && !has_component) {
        ret->note = "this pattern cannot be said here";
        return IMPORT_PATH_NONE;
    }
    if (anywhere) {
        ret->note = "in every directory, whatever the working directory is";
        return IMPORT_PATH_MORE;
    }
    /* Exact: a literal path, or one name at any depth below it. */
    size_t rest = pattern->count - head;
    bool deep = floats(pattern) ? rest == 1 || (rest == 2 && pattern->list[0].kind == KIND_DOUBLE)
                                : rest == 2 && pattern->list[head].kind == KIND_DOUBLE;
    if (has_component && deep && !anywhere && has_like(ret->prefix, ret->component)) {
        ret->note = "all below the directory, whose own path has such a name";
        return IMPORT_PATH_MORE;
    }
    if (whole || (has_component && deep)) {
        ret->note = note_of_start(pattern, places);
        return IMPORT_PATH_EXACT;
    }
    ret->note = has_component ? "at any depth, and whatever the rest of the pattern says"
                              : "all that is below this directory";
    return IMPORT_PATH_MORE;
}

/* One name at any depth below a place: exact, unless the place's own path has such a name, where the match would cover
 * all below the place. */
static enum import_path_result say_name(const struct pattern *pattern, const struct import_places *places,
                                        struct arena *arena, struct import_path *ret)
{
    size_t head = floats(pattern) ? 0 : literals(pattern);
    size_t rest = pattern->count - head;
    size_t name = rest > 0 ? pattern->count - 1 : 0;
    bool deep = floats(pattern) ? rest == 1 || (rest == 2 && pattern->list[0].kind == KIND_DOUBLE)
                                : rest == 2 && pattern->list[head].kind == KIND_DOUBLE;
    if (floats(pattern) && pattern->all_below && pattern->list[0].kind == KIND_LITERAL) {
        deep = false; /* with two stars behind it the name may also be meant from the start alone */
    }
    if (deep && !pattern->only_directory && !pattern->upward && can_be_component(&pattern->list[name]) &&
        (pattern->start != START_WORKING || places->working.ptr != NULL) &&
        write_prefix(pattern, head, places, arena, &ret->prefix) &&
        !has_like(ret->prefix, pattern->list[name].text)) {
        ret->component = pattern->list[name].text;
        ret->note = "";
        return IMPORT_PATH_EXACT;
    }
    if (literals(pattern) != pattern->count || pattern->only_directory || pattern->upward ||
        !write_prefix(pattern, pattern->count, places, arena, &ret->prefix)) {
        ret->prefix = (struct slice){0};
        ret->note = "a pattern with wildcards inside can't be said exactly";
        return IMPORT_PATH_NONE;
    }
    ret->note = pattern->all_below ? note_of_start(pattern, places)
                                   : "only in the working directory itself, not at any depth";
    return pattern->all_below ? IMPORT_PATH_EXACT : IMPORT_PATH_LESS;
}

static enum import_path_result say_less(const struct pattern *pattern, const struct import_places *places,
                                        struct arena *arena, struct import_path *ret)
{
    if (literals(pattern) != pattern->count || floats(pattern)) {
        return say_name(pattern, places, arena, ret);
    }
    if (pattern->only_directory || pattern->upward) {
        ret->note = "a pattern that ends in '/' or has '..' can't be said exactly";
        return IMPORT_PATH_NONE;
    }
    if (!write_prefix(pattern, pattern->count, places, arena, &ret->prefix)) {
        ret->note = "what '/path' starts from depends on where the settings lie: name it with --project, or "
                    "write '//path'";
        return IMPORT_PATH_NONE;
    }
    ret->note = note_of_start(pattern, places);
    return IMPORT_PATH_EXACT;
}

enum import_path_result import_path_read(struct slice text, bool widen, const struct import_places *places,
                                         struct arena *arena, struct import_path *ret_path)
{
    *ret_path = (struct import_path){.note = "the pattern is empty, too long, or there is no memory"};
    if (slice_starts_with(text, SLICE("!"))) {
        ret_path->note = "an exception to the rules before it";
        return IMPORT_PATH_EXCEPTION;
    }
    struct pattern *pattern = arena_alloc(arena, sizeof(*pattern));
    bool blank = text.len == 0 || text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ' ||
                 memchr(text.ptr, '\0', text.len) != NULL;
    if (pattern == NULL || blank || !read_pattern(text, arena, pattern)) {
        return IMPORT_PATH_NONE;
    }
    ret_path->note = "";
    return widen ? say_more(pattern, places, arena, ret_path) : say_less(pattern, places, arena, ret_path);
}
