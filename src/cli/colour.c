/* Colour on a terminal. The environment may take it away, and steers nothing else. */
#include "cli/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_wanted(void)
{
    static enum { UNKNOWN, NO, YES } wanted = UNKNOWN;
    if (wanted == UNKNOWN) {
        const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
        bool dumb = term == NULL || strcmp(term, "dumb") == 0;
        wanted = isatty(STDOUT_FILENO) == 1 && (none == NULL || none[0] == '\0') && !dumb ? YES : NO;
    }
    return wanted == YES;
}

void colour_start(struct buf *out, enum colour colour)
{
    static const char *const codes[] = {
        [COLOUR_RED] = "\033[31m", [COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
        [COLOUR_DIM] = "\033[2m",  [COLOUR_END] = "\033[0m",
    };
    if (is_wanted()) {
        buf_text(out, codes[colour]);
    }
}

void colour_end(struct buf *out)
{
    colour_start(out, COLOUR_END);
}

enum colour colour_of_decision(struct slice kind)
{
    return slice_is(kind, "allow")     ? COLOUR_GREEN
           : slice_is(kind, "deny")    ? COLOUR_RED
           : slice_is(kind, "require") ? COLOUR_YELLOW
                                       : COLOUR_END;
}
