/* As much of TOML as telling single settings and the names of tables takes: headers of tables, keys, the text of
 * values in one line. What cannot be read is passed over; nothing here decides a call. */
#ifndef HOST_TOML_H
#define HOST_TOML_H

#include "base/buffer.h"

/* One line `KEY = VALUE` with the table that it stands in. */
struct toml_line {
    struct slice table; /* "a.b" of the last header: as written, in the text */
    struct slice key;   /* as written; ptr NULL: the line is the header itself */
    struct slice value;
};

/* Takes the next line that is a header or a setting off the text. False at its end. */
bool toml_next(struct slice *text, struct toml_line *line);

/* Whether a line sets the key with the dotted name `name` to the value: it may be written as a table and a key, as a
 * dotted key, or in an inline table, with quotes and blanks; and may stand below other tables (profiles). */
bool toml_sets(const struct toml_line *line, const char *name, const char *value);

/* The name N of a header `[TABLE.N]` or `[TABLE.N.…]`, without its quotes; ptr NULL: another header, or it holds an
 * escape. */
struct slice toml_table_name(struct slice header, struct slice table);

/* Without blanks at its ends. */
struct slice toml_trimmed(struct slice s);

#endif
