/* Names of entries against patterns: the loaded rules' pathComponents, and globs as the shell has them. */
#include <stdlib.h>

#include "path/internal.h"

/* ---- pathComponents ---- */

/* Patterns without a star stand in a table, since a tree has many names; those with one are few and compared one by
 * one. */
struct path_names {
    const struct slice **slots;
    size_t mask;
    const struct slice **stars;
    size_t star_count;
};

static size_t hash_name(struct slice name)
{
    uint64_t hash = name.len;
    for (size_t i = 0; i < name.len; i++) {
        hash = (hash ^ (unsigned char)name.ptr[i]) * 0x100000001b3u;
    }
    return (size_t)(hash ^ hash >> 29);
}

static bool has_star(struct slice pattern)
{
    return pattern.len > 1 && (pattern.ptr[0] == '*' || pattern.ptr[pattern.len - 1] == '*');
}

struct path_names *path_names_create(const struct slice *patterns, size_t count)
{
    struct path_names *names = calloc(1, sizeof(*names));
    size_t size = 16;
    while (size < 2 * count) {
        size *= 2;
    }
    if (names != NULL) {
        names->slots = calloc(size, sizeof(*names->slots));
        names->stars = calloc(count + 1, sizeof(*names->stars));
        names->mask = size - 1;
    }
    if (names == NULL || names->slots == NULL || names->stars == NULL) {
        path_names_destroy(names);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (has_star(patterns[i])) {
            names->stars[names->star_count++] = &patterns[i];
            continue;
        }
        size_t at = hash_name(patterns[i]) & names->mask;
        while (names->slots[at] != NULL) {
            at = (at + 1) & names->mask;
        }
        names->slots[at] = &patterns[i];
    }
    return names;
}

void path_names_destroy(struct path_names *names)
{
    if (names == NULL) {
        return;
    }
    free(names->slots);
    free(names->stars);
    free(names);
}

bool path_name_meets(struct slice name, struct slice pattern)
{
    if (!has_star(pattern)) {
        return slice_eq(name, pattern);
    }
    if (pattern.ptr[0] == '*') {
        return slice_ends_with(name, slice_from(pattern, 1));
    }
    return slice_starts_with(name, (struct slice){pattern.ptr, pattern.len - 1});
}

bool path_names_have(const struct path_names *names, struct slice name)
{
    for (size_t at = hash_name(name) & names->mask; names->slots[at] != NULL; at = (at + 1) & names->mask) {
        if (slice_eq(*names->slots[at], name)) {
            return true;
        }
    }
    for (size_t i = 0; i < names->star_count; i++) {
        if (path_name_meets(name, *names->stars[i])) {
            return true;
        }
    }
    return false;
}

/* ---- Globs ---- */

/* The class `[…]` at the start of a pattern: how long it is, or 0 when it does not end; and whether it has a byte. */
static size_t read_class(struct slice pattern, unsigned char byte, bool *ret_has)
{
    size_t at = 1;
    bool negated = at < pattern.len && (pattern.ptr[at] == '!' || pattern.ptr[at] == '^'), has = false;
    at += negated;
    for (size_t first = at; at < pattern.len; at++) {
        unsigned char low = (unsigned char)pattern.ptr[at], high = low;
        if (low == ']' && at > first) {
            *ret_has = has != negated;
            return at + 1;
        }
        if (at + 2 < pattern.len && pattern.ptr[at + 1] == '-' && pattern.ptr[at + 2] != ']') {
            high = (unsigned char)pattern.ptr[at + 2];
            at += 2;
        }
        has = has || (byte >= low && byte <= high);
    }
    return 0;
}

/* How many bytes of a pattern that begins with no star match one character at the start of `name`, and how long that
 * is; 0 when they do not. */
static size_t match_one(struct slice pattern, struct slice name, size_t *ret_len)
{
    unsigned char byte = (unsigned char)name.ptr[0];
    bool has = false;
    *ret_len = 1;
    if (pattern.ptr[0] == '?' || pattern.ptr[0] == '[') {
        size_t len = pattern.ptr[0] == '?' ? 1 : read_class(pattern, byte, &has);
        if (len > 0) {
            while (byte >= 0x80 && *ret_len < name.len &&
                   ((unsigned char)name.ptr[*ret_len] & 0xC0) == 0x80) {
                ++*ret_len; /* a class has no characters beyond ASCII, so any such one may be meant */
            }
            return pattern.ptr[0] == '?' || has || byte >= 0x80 ? len : 0;
        }
    }
    if (pattern.ptr[0] == '\\' && pattern.len > 1) {
        return pattern.ptr[1] == name.ptr[0] ? 2 : 0;
    }
    return pattern.ptr[0] == name.ptr[0] ? 1 : 0;
}

bool path_glob_meets(struct slice pattern, struct slice name)
{
    struct slice back_pattern = {NULL, 0}, back_name = {NULL, 0};
    for (;;) {
        size_t taken, len;
        if (pattern.len > 0 && pattern.ptr[0] == '*') {
            pattern = slice_from(pattern, 1);
            back_pattern = pattern;
            back_name = name;
            continue;
        }
        if (pattern.len == 0 && name.len == 0) {
            return true;
        }
        if (pattern.len > 0 && name.len > 0 && (taken = match_one(pattern, name, &len)) > 0) {
            pattern = slice_from(pattern, taken);
            name = slice_from(name, len);
            continue;
        }
        if (back_pattern.ptr == NULL || back_name.len == 0) {
            return false;
        }
        back_name = slice_from(back_name, 1);
        pattern = back_pattern;
        name = back_name;
    }
}

bool path_has_wildcard(struct slice name)
{
    bool has;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '*' || name.ptr[i] == '?' ||
            (name.ptr[i] == '[' && read_class(slice_from(name, i), 0, &has) > 0)) {
            return true;
        }
    }
    return false;
}
