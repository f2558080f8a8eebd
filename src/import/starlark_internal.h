/* As much of Starlark as Codex's rules are written in: calls of functions with named arguments that are strings or lists
 * of them, and names for such values. Anything else is an error with its place. Nothing outside src/import includes
 * this. */
#ifndef IMPORT_STARLARK_INTERNAL_H
#define IMPORT_STARLARK_INTERNAL_H

#include "base/arena.h"
#include "base/buffer.h"

struct starlark_value {
    bool is_list;
    struct slice text; /* of a string */
    const struct starlark_value *items;
    size_t count;
};

struct starlark_argument {
    struct slice name; /* ptr NULL: it has none */
    struct starlark_value value;
};

struct starlark_call {
    struct slice function;
    size_t offset; /* in the text */
    size_t end;    /* behind its `)` */
    const struct starlark_argument *arguments;
    size_t count;
};

struct starlark {
    struct slice text;
    size_t at;
    struct arena *arena;
    struct starlark_argument *names; /* that were given a value */
    size_t name_count, name_cap;
    const char *error; /* NULL: none; its place is `at` */
};

void starlark_init(struct starlark *reader, struct slice text, struct arena *arena);

/* Takes the next call. False at the end, or with reader->error set. */
bool starlark_next(struct starlark *reader, struct starlark_call *ret_call);

/* The argument of that name, or NULL. */
const struct starlark_value *starlark_argument(const struct starlark_call *call, const char *name);

#endif
