/* TOML (1.0) as settings: its tables one after the other, each with its keys, values as JSON text. Strict where a rule
 * could be read in two ways; dates stand as strings. Nothing outside src/import includes this. */
#ifndef IMPORT_TOML_INTERNAL_H
#define IMPORT_TOML_INTERNAL_H

#include "base/arena.h"
#include "base/buffer.h"

#define TOML_KEYS 8u /* of a dotted name */

struct toml_key {
    struct slice parts[TOML_KEYS];
    size_t count;
};

/* A header (`value.ptr` NULL) or a setting. */
struct toml_item {
    struct toml_key table; /* of the last header */
    bool element;          /* that header was one of an array: `[[rule]]` */
    struct toml_key key;
    struct slice value; /* JSON text in the arena */
    size_t offset;
};

struct toml_reader {
    struct slice text;
    size_t at;
    struct arena *arena;
    struct toml_key table;
    bool element;
    const char *error; /* NULL: none; its place is `at` */
};

void toml_reader_init(struct toml_reader *reader, struct slice text, struct arena *arena);

/* Takes the next header or setting. False at the end, or with reader->error set. */
bool toml_reader_next(struct toml_reader *reader, struct toml_item *ret_item);

/* Whether a name is these parts, in one text with dots between. */
bool toml_key_is(const struct toml_key *key, const char *dotted);

#endif
