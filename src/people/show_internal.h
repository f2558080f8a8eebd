/* What the files of the layout share. Nothing outside src/people includes this. */
#ifndef PEOPLE_SHOW_INTERNAL_H
#define PEOPLE_SHOW_INTERNAL_H

#include "people/show.h"

/* Begins a line anew, indented. */
void show_begin(struct buf *line, unsigned indent);

/* Hands the line on. False when it could not be made. */
MUST_USE bool show_end(struct buf *line, enum show_kind kind, const struct show_lines *lines);

/* Takes the first line off a text. */
struct slice show_next_line(struct slice *rest);

/* Whether a member of this name holds a shell command. */
bool show_is_command_name(struct slice name);

/* Writes a line for each command of a shell text. */
MUST_USE bool show_command(struct slice text, struct buf *line, unsigned indent,
                           const struct show_lines *lines);

#endif
