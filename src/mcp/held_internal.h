/* Calls that wait for people.
 *
 * A held call owns a copy of its line: when its request has ended it is read and judged anew. The list owns
 * its calls; the entry of a call's id in the table of open requests points back to it. */
#ifndef MCP_HELD_INTERNAL_H
#define MCP_HELD_INTERNAL_H

#include "gate/gate.h"
#include "mcp/answer_internal.h"
#include "mcp/id_internal.h"

/* The lines of all held calls together. A call that would be held beyond this is denied. */
#define HELD_BYTES ((size_t)64 << 20)
#define HELD_MOST  4096u

struct held_call {
    struct held_call *prev, *next;
    struct ids_entry *entry;
    struct held claim;
    bool asks_people; /* its call has arguments that the tool's schema does not declare */
    bool parked;      /* waits for the list of the server's tools, and has no claim */
    enum answer_shape shape;
    struct slice raw, text; /* the line with and without its line end: behind the struct */
    struct slice token;     /* of progress, inside `text`; ptr NULL: none was asked for */
    uint64_t deadline_ms;   /* on the loop's clock */
    uint64_t progress_ms;   /* when the next is due */
    unsigned progress;      /* how many were sent */
};

struct held_list {
    struct held_call *first, *last;
    size_t count, bytes;
};

/* Adds a call with copies of its line and token, which must lie inside it. NULL at a ceiling or without
 * memory. */
MUST_USE struct held_call *held_add(struct held_list *list, struct ids_entry *entry, struct slice raw,
                                    struct slice text, struct slice token);

/* Takes a call out of the list; the call lives on until held_free. */
void held_take(struct held_list *list, struct held_call *call);
void held_free(struct held_call *call);

/* Whether another call of the list waits for the same request (a retry of the same call). */
bool held_shared(const struct held_list *list, const struct held_call *call);

#endif
