/* Which component patterns a name has, and names that have just these. */
#include "analysis/patterns_internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_prefix_pattern(struct slice text)
{
    return text.len > 1 && text.ptr[text.len - 1] == '*';
}

static bool is_suffix_pattern(struct slice text)
{
    return text.len > 1 && text.ptr[0] == '*';
}

static struct slice reversed(struct arena *arena, struct slice text)
{
    char *copy = arena_alloc(arena, text.len);
    for (size_t i = 0; copy != NULL && i < text.len; i++) {
        copy[i] = text.ptr[text.len - 1 - i];
    }
    return (struct slice){copy, text.len};
}

/* Files a pattern's fixed end under its number in `ends`. */
static bool add_end(struct patterns *patterns, uint32_t symbol, uint32_t *list, uint32_t *count, uint32_t *of)
{
    struct slice text = intern_text(patterns->texts, symbol);
    struct slice end = of == patterns->prefix_of ? (struct slice){text.ptr, text.len - 1}
                                                 : reversed(&patterns->arena, slice_from(text, 1));
    uint32_t number = end.ptr == NULL ? 0 : intern_add(&patterns->ends, end);
    if (number == 0) {
        return false;
    }
    of[number] = symbol;
    list[(*count)++] = number;
    return true;
}

static bool fill(struct patterns *patterns, const uint32_t *list, size_t count)
{
    uint32_t *prefixes = calloc(count + 1, sizeof(*prefixes)),
             *suffixes = calloc(count + 1, sizeof(*suffixes));
    uint32_t prefix_count = 0, suffix_count = 0;
    bool ok = prefixes != NULL && suffixes != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        struct slice text = intern_text(patterns->texts, list[i]);
        if (is_prefix_pattern(text)) {
            ok = add_end(patterns, list[i], prefixes, &prefix_count, patterns->prefix_of);
        } else if (is_suffix_pattern(text)) {
            ok = add_end(patterns, list[i], suffixes, &suffix_count, patterns->suffix_of);
        } else {
            patterns->literal[list[i]] = true;
        }
    }
    ok = ok && name_nest_of(&patterns->prefixes, &patterns->ends, prefixes, prefix_count) &&
         name_nest_of(&patterns->suffixes, &patterns->ends, suffixes, suffix_count);
    free(prefixes);
    free(suffixes);
    return ok;
}

bool patterns_init(struct patterns *patterns, const struct intern *texts, const uint32_t *list, size_t count)
{
    *patterns = (struct patterns){.texts = texts};
    arena_init(&patterns->arena, 0);
    intern_init(&patterns->ends, &patterns->arena);
    bool *seen = calloc((size_t)texts->count + 1, sizeof(*seen));
    uint32_t *distinct = calloc(count + 1, sizeof(*distinct));
    for (size_t i = 0; seen != NULL && distinct != NULL && i < count; i++) {
        if (!seen[list[i]]) {
            seen[list[i]] = true;
            distinct[patterns->count++] = list[i];
        }
    }
    patterns->literal = calloc((size_t)texts->count + 1, sizeof(*patterns->literal));
    patterns->prefix_of = calloc((size_t)patterns->count + 1, sizeof(*patterns->prefix_of));
    patterns->suffix_of = calloc((size_t)patterns->count + 1, sizeof(*patterns->suffix_of));
    patterns->of_symbol = calloc((size_t)texts->count + 1, sizeof(*patterns->of_symbol));
    bool ok = seen != NULL && distinct != NULL && patterns->literal != NULL && patterns->prefix_of != NULL &&
              patterns->suffix_of != NULL && patterns->of_symbol != NULL &&
              fill(patterns, distinct, patterns->count);
    uint32_t deepest = patterns->prefixes.deepest > patterns->suffixes.deepest ? patterns->prefixes.deepest
                                                                               : patterns->suffixes.deepest;
    patterns->above = calloc((size_t)deepest + 1, sizeof(*patterns->above));
    free(seen);
    free(distinct);
    if (!ok || patterns->above == NULL) {
        patterns_finish(patterns);
        return false;
    }
    return true;
}

void patterns_finish(struct patterns *patterns)
{
    name_nest_finish(&patterns->prefixes);
    name_nest_finish(&patterns->suffixes);
    intern_finish(&patterns->ends);
    arena_finish(&patterns->arena);
    free(patterns->literal);
    free(patterns->prefix_of);
    free(patterns->suffix_of);
    free(patterns->of_symbol);
    free(patterns->above);
    *patterns = (struct patterns){.texts = patterns->texts};
}

/* The patterns of one kind whose fixed end begins `name`. */
static uint32_t with_end(struct patterns *patterns, const struct name_nest *nest, const uint32_t *of,
                         struct slice name, uint32_t *ret)
{
    uint32_t count = name_nest_above(nest, name, patterns->above);
    for (uint32_t i = 0; i < count; i++) {
        ret[i] = of[patterns->above[i]];
    }
    return count;
}

/* Reversing needs room: names longer than a path match no pattern that could ever be met. */
static struct slice reversed_on_stack(struct slice text, char *room)
{
    size_t len = text.len < LIMIT_PATH_BYTES ? text.len : LIMIT_PATH_BYTES;
    for (size_t i = 0; i < len; i++) {
        room[i] = text.ptr[text.len - 1 - i];
    }
    return (struct slice){room, len};
}

uint32_t patterns_of_component(struct patterns *patterns, struct slice component, uint32_t *ret)
{
    char room[LIMIT_PATH_BYTES + 1];
    uint32_t count = 0;
    uint32_t symbol = intern_find(patterns->texts, component);
    if (symbol != 0 && patterns->literal[symbol]) {
        ret[count++] = symbol;
    }
    count += with_end(patterns, &patterns->prefixes, patterns->prefix_of, component, ret + count);
    return count + with_end(patterns, &patterns->suffixes, patterns->suffix_of,
                            reversed_on_stack(component, room), ret + count);
}

const struct pattern_list *patterns_of_pattern(struct patterns *patterns, uint32_t symbol)
{
    struct pattern_list *list = &patterns->of_symbol[symbol];
    if (list->made) {
        return list;
    }
    uint32_t *symbols = calloc((size_t)patterns->count + 1, sizeof(*symbols));
    if (symbols == NULL) {
        return NULL;
    }
    char room[LIMIT_PATH_BYTES + 1];
    struct slice text = intern_text(patterns->texts, symbol);
    uint32_t count;
    if (is_prefix_pattern(text)) {
        count = with_end(patterns, &patterns->prefixes, patterns->prefix_of,
                         (struct slice){text.ptr, text.len - 1}, symbols);
    } else if (is_suffix_pattern(text)) {
        count = with_end(patterns, &patterns->suffixes, patterns->suffix_of,
                         reversed_on_stack(slice_from(text, 1), room), symbols);
    } else {
        count = patterns_of_component(patterns, text, symbols);
    }
    uint32_t *copy = arena_array(&patterns->arena, (size_t)count + 1, sizeof(*copy));
    if (copy != NULL) {
        memcpy(copy, symbols, count * sizeof(*copy));
        *list = (struct pattern_list){copy, count, true};
    }
    free(symbols);
    return copy == NULL ? NULL : list;
}

static uint32_t add_distinct(uint32_t *list, uint32_t count, const uint32_t *more, uint32_t more_count)
{
    for (uint32_t i = 0; i < more_count; i++) {
        uint32_t j = 0;
        while (j < count && list[j] != more[i]) {
            j++;
        }
        if (j == count) {
            list[count++] = more[i];
        }
    }
    return count;
}

bool patterns_of_path(struct patterns *patterns, struct slice path, struct pattern_list *ret)
{
    if (patterns->count == 0) {
        *ret = (struct pattern_list){NULL, 0, true};
        return true;
    }
    uint32_t *list = calloc((size_t)patterns->count * 2 + 1, sizeof(*list)), *one = list + patterns->count;
    uint32_t count = 0;
    for (size_t at = 0; list != NULL && at < path.len;) {
        size_t end = at;
        while (end < path.len && path.ptr[end] != '/') {
            end++;
        }
        if (end > at) {
            uint32_t more = patterns_of_component(patterns, (struct slice){path.ptr + at, end - at}, one);
            count = add_distinct(list, count, one, more);
        }
        at = end + 1;
    }
    uint32_t *copy = list == NULL ? NULL : arena_array(&patterns->arena, (size_t)count + 1, sizeof(*copy));
    if (copy != NULL) {
        memcpy(copy, list, count * sizeof(*copy));
        *ret = (struct pattern_list){copy, count, true};
    }
    free(list);
    return copy != NULL;
}

void patterns_instance(struct buf *buf, const struct patterns *patterns, uint32_t symbol, struct slice fresh)
{
    struct slice text = intern_text(patterns->texts, symbol);
    if (is_prefix_pattern(text)) {
        buf_bytes(buf, text.ptr, text.len - 1);
        buf_slice(buf, fresh);
    } else if (is_suffix_pattern(text)) {
        buf_slice(buf, fresh);
        buf_slice(buf, slice_from(text, 1));
    } else {
        buf_slice(buf, text);
    }
}
