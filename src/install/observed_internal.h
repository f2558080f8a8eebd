/* The files that `--observe` was written into, remembered in the state directory: `[{"file":PATH,"host":NAME|null},…]`. */
#ifndef INSTALL_OBSERVED_INTERNAL_H
#define INSTALL_OBSERVED_INTERNAL_H

#include "base/files.h"
#include "json/json.h"

/* Remembers that --observe was written into a file of a host's hooks (host NULL: of servers). */
MUST_USE bool observed_note(const char *state_dir, const char *file, const char *host, struct buf *ret_error);

/* Reads what is remembered, an array; none when it is damaged or not there. False with a message; else the file is the
 * caller's to finish. */
MUST_USE bool observed_read(struct text_file *file, struct json_doc *doc, const char *state_dir,
                            struct buf *ret_error);

/* A member that is a string; ptr NULL: there is none. */
struct slice observed_member(const struct json_doc *doc, const struct json_value *object, const char *key);

#endif
