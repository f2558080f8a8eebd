/* A host's settings as text: members and elements put in and taken out, everything else left byte for byte as
 * it was, order, comments, spacing and line ends included. JSON, with comments and trailing commas allowed.
 *
 * What is put in goes in front of its neighbours, so that taking the same bytes out gives the old text back.
 */
#ifndef INSTALL_SETTINGS_H
#define INSTALL_SETTINGS_H

#include "json/json.h"

/* A text and what it holds. Owns both. */
struct settings {
    struct buf text;
    struct json_doc doc;           /* of the text; offsets are the text's */
    const struct json_value *root; /* an object */
    struct buf blanked;            /* the text without its comments: what doc was read from */
};

/* Takes a copy of a text; an empty one, or one of blanks, is taken for none: `{}` and a line end. False, with
 * lines for people in ret_error, when it is no JSON object, repeats a key, or memory ran out. `name` is the
 * file's, for messages. */
MUST_USE bool settings_init(struct settings *settings, const char *name, struct slice text,
                            struct buf *ret_error);
void settings_finish(struct settings *settings);

/* Puts `element` (compact JSON) in front of the others of the array that stands under the keys of `path`,
 * NULL at the end. What is missing of the path is made. Appends what was put in to ret_inserted: deleting
 * these bytes again gives the old text. False, with a message, when something on the path is of another type,
 * or memory ran out. */
MUST_USE bool settings_add(struct settings *settings, const char *const *path, struct slice element,
                           struct buf *ret_inserted, struct buf *ret_error);

/* Puts a member in front of the others of the document, unless a member of this key is there. ret_inserted as
 * above; nothing is appended when it was there. */
MUST_USE bool settings_add_member(struct settings *settings, const char *key, struct slice value,
                                  struct buf *ret_inserted, struct buf *ret_error);

/* Deletes bytes that were put in. False when they do not stand there exactly once, or what is left is no such
 * document: nothing is changed then. */
MUST_USE bool settings_take_out(struct settings *settings, struct slice inserted);

/* Takes an element of an array out, with the comma that it does not need any more. */
MUST_USE bool settings_remove(struct settings *settings, const struct json_value *array,
                              const struct json_value *element);

#endif
