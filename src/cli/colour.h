/* Colour for people: only where standard output is a terminal, and neither NO_COLOR nor TERM=dumb is set. */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include "base/buffer.h"

enum colour {
    COLOUR_RED,    /* denied, an error */
    COLOUR_GREEN,  /* allowed, as it should be */
    COLOUR_YELLOW, /* waits for people, a warning */
    COLOUR_DIM,    /* beside the point */
    COLOUR_END,
};

/* Appends what starts a colour, or ends it, or nothing. The text between is the caller's, printable already. */
void colour_start(struct buf *out, enum colour colour);
void colour_end(struct buf *out);

/* The colour of "allow", "deny" and "require"; COLOUR_END for another word. */
enum colour colour_of_decision(struct slice kind);

#endif
