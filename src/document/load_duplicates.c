/* Finds keys that stand twice in an object. */
#include <stdlib.h>

#include "document/load_internal.h"

/* The keys of one object and the line of each one's first place. */
struct first_keys {
    struct arena arena;
    struct intern names;
    uint32_t *lines;
};

static void report(struct loading *loading, const struct json_value *key, const struct place *place,
                   uint32_t first_line)
{
    struct buf *message = load_message(loading);
    buf_text(message, "the key ");
    message_quote(message, json_str(key));
    buf_printf(message, " stands here for the second time, first on line %u: keep one of them", first_line);
    load_report(loading, "duplicate-key", key->offset, place);
}

/* The cursor moves along with the walk, which goes through the text in order. */
static void walk(struct loading *loading, const struct json_value *value, const struct place *place);

static void walk_member(struct loading *loading, const struct json_value *key, const struct place *place,
                        struct first_keys *firsts)
{
    cursor_move(&loading->cursor, key->offset);
    if (key->duplicate) {
        uint32_t first = intern_find(&firsts->names, json_str(key));
        if (first != 0) {
            report(loading, key, place, firsts->lines[first - 1]);
        }
    } else if (!load_grow(loading, (void **)&firsts->lines, firsts->names.count, sizeof(*firsts->lines)) ||
               intern_add(&firsts->names, json_str(key)) == 0) {
        loading->errors->failed = true;
    } else {
        firsts->lines[firsts->names.count - 1] = loading->cursor.line;
    }
    walk(loading, json_member_value(key), place);
}

static bool has_duplicate(const struct loading *loading, const struct json_value *object)
{
    const struct json_value *key = json_first(&loading->doc, object);
    while (key != NULL && !key->duplicate) {
        key = json_right(&loading->doc, object, key);
    }
    return key != NULL;
}

static void walk_object(struct loading *loading, const struct json_value *object, const struct place *place)
{
    bool look = has_duplicate(loading, object);
    struct first_keys firsts = {.lines = NULL};
    arena_init(&firsts.arena, 0);
    intern_init(&firsts.names, &firsts.arena);
    const struct json_value *key = json_first(&loading->doc, object);
    for (; key != NULL; key = json_right(&loading->doc, object, key)) {
        struct place here = {.up = place, .key = json_str(key)};
        if (look) {
            walk_member(loading, key, &here, &firsts);
        } else {
            walk(loading, json_member_value(key), &here);
        }
    }
    free(firsts.lines);
    intern_finish(&firsts.names);
    arena_finish(&firsts.arena);
}

static void walk(struct loading *loading, const struct json_value *value, const struct place *place)
{
    if (value->type == JSON_OBJECT) {
        walk_object(loading, value, place);
    } else if (value->type == JSON_ARRAY) {
        struct place here = {.up = place, .element = true};
        const struct json_value *element = json_first(&loading->doc, value);
        for (; element != NULL; element = json_right(&loading->doc, value, element), here.index++) {
            walk(loading, element, &here);
        }
    }
}

void load_duplicates(struct loading *loading)
{
    walk(loading, json_root(&loading->doc), NULL);
}
