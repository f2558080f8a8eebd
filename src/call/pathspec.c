/* Pathspecs of git, which servers and commands take where others take a path. One that begins with `:` and magic
 * means what stands behind the magic, from the top of a repository or from anywhere, and some mean all but that. */
#include <string.h>

#include "call/walk_internal.h"

struct pathspec {
    struct slice rest; /* behind the magic */
    bool top;          /* counted from the top of the repository */
    bool all;          /* the whole of where it starts may be meant, too */
};

/* The words of `:(WORD,WORD)`. Those that leave what is meant to the rest are named: what another one adds is not known. */
static void read_words(struct slice words, struct pathspec *ret)
{
    while (words.len > 0) {
        const char *comma = memchr(words.ptr, ',', words.len);
        struct slice word = {words.ptr, comma == NULL ? words.len : (size_t)(comma - words.ptr)};
        bool top = slice_eq(word, SLICE("top"));
        ret->top = ret->top || top;
        ret->all = ret->all || !(top || slice_eq(word, SLICE("glob")) || slice_eq(word, SLICE("literal")));
        words = slice_from(words, comma == NULL ? words.len : word.len + 1);
    }
}

static bool read_pathspec(struct slice text, struct pathspec *ret)
{
    *ret = (struct pathspec){.top = false};
    if (text.len < 2 || text.ptr[0] != ':') {
        return false;
    }
    if (text.ptr[1] == '(') {
        const char *end = memchr(text.ptr, ')', text.len);
        if (end != NULL) {
            read_words((struct slice){text.ptr + 2, (size_t)(end - text.ptr) - 2}, ret);
            ret->rest = slice_from(text, (size_t)(end - text.ptr) + 1);
        }
        return end != NULL;
    }
    size_t at = 1;
    for (; at < text.len && memchr("/!^", text.ptr[at], 3) != NULL; at++) {
        ret->top = ret->top || text.ptr[at] == '/';
        ret->all = ret->all || text.ptr[at] != '/';
    }
    bool magic = at > 1;
    ret->rest = slice_from(text, at + (magic && at < text.len && text.ptr[at] == ':'));
    return magic;
}

/* The nearest directory at or above a start that holds an entry `.git`: empty when there is none. */
static bool find_top(struct scratch *scratch, struct path_start *start, struct slice *ret_top)
{
    struct path_step git;
    *ret_top = SLICE("");
    if (!start->usable || !start_walk(scratch, start)) {
        return !start->usable;
    }
    struct slice at = start->readable ? start->canonical : SLICE("");
    while (at.len > 0) {
        buf_reset(&scratch->text);
        buf_slice(&scratch->text, at);
        buf_text(&scratch->text, at.len == 1 ? ".git" : "/.git");
        buf_byte(&scratch->text, '\0');
        if (!buf_ok(&scratch->text)) {
            return call_no_memory(scratch);
        }
        if (!call_spend(scratch, at.len)) {
            return false; /* over a limit, which is another denial than no memory */
        }
        if (path_look(buf_slice_of(&scratch->text).ptr, &git)) {
            *ret_top = at;
            return true;
        }
        const char *slash = memrchr(at.ptr, '/', at.len);
        size_t above = (size_t)(slash - at.ptr);
        at.len = at.len == 1 ? 0 : above == 0 ? 1 : above;
    }
    return true;
}

typedef bool (*adder)(struct scratch *scratch, const struct origin *origin, struct slice text);

static bool add_below(struct scratch *scratch, const struct origin *origin, struct slice top,
                      struct slice rest, adder add)
{
    size_t len = top.len + 1 + rest.len;
    char *joined = arena_alloc(&scratch->out->arena, len);
    if (joined == NULL) {
        return call_no_memory(scratch);
    }
    memcpy(joined, top.ptr, top.len);
    joined[top.len] = '/';
    memcpy(joined + top.len + 1, rest.ptr, rest.len);
    return len > LIMIT_PATH_BYTES || add(scratch, origin, (struct slice){joined, len});
}

static bool add_from_tops(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                          const struct pathspec *spec, adder add)
{
    for (size_t i = 0; i < starts->count; i++) {
        struct slice top;
        if (!find_top(scratch, &starts->list[i], &top)) {
            return false;
        }
        if (top.len > 0 && (!add_below(scratch, origin, top, spec->rest, add) ||
                            (spec->all && !add_below(scratch, origin, top, SLICE("."), add)))) {
            return false;
        }
    }
    return true;
}

bool pathspec_each(struct scratch *scratch, const struct origin *origin, struct slice text, adder add)
{
    struct pathspec spec;
    struct starts *starts;
    if (!read_pathspec(text, &spec)) {
        return true;
    }
    spec.rest = spec.rest.len == 0 ? SLICE(".") : spec.rest;
    return add(scratch, origin, spec.rest) && (!spec.all || add(scratch, origin, SLICE("."))) &&
           (!spec.top ||
            (starts_of_call(scratch, &starts) && add_from_tops(scratch, origin, starts, &spec, add) &&
             add_from_tops(scratch, origin, &scratch->directories, &spec, add)));
}
