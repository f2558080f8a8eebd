/* Lines of a gate for its operator. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gate/internal.h"

void gate_tell(struct gate *gate, const char *format, ...)
{
    char *line = NULL;
    va_list args;
    if (gate->options.say == NULL) {
        return;
    }
    va_start(args, format);
    int len = vasprintf(&line, format, args);
    va_end(args);
    gate->options.say(len >= 0 ? line : "no memory for a message");
    if (len >= 0) {
        free(line);
    }
}

void gate_tell_journal(struct gate *gate, struct slice why)
{
    if (!gate->told) {
        gate_tell(gate, "the journal cannot be written: %.*s: %s", SLICE_FMT(why),
                  gate->options.journal_optional ? "going on without a record (--journal=optional)"
                                                 : "calls that would be allowed are denied until it can be");
    }
    gate->told = true;
}
