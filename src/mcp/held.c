/* The list of held calls. */
#include "mcp/held_internal.h"

#include <stdlib.h>
#include <string.h>

struct held_call *held_add(struct held_list *list, struct ids_entry *entry, struct slice raw,
                           struct slice text, struct slice token)
{
    if (list->count >= HELD_MOST || raw.len > HELD_BYTES - list->bytes) {
        return NULL;
    }
    struct held_call *call = malloc(sizeof(*call) + raw.len);
    if (call == NULL) {
        return NULL;
    }
    char *copy = (char *)(call + 1);
    memcpy(copy, raw.ptr, raw.len);
    *call = (struct held_call){
        .prev = list->last,
        .entry = entry,
        .raw = {copy, raw.len},
        .text = {copy, text.len},
    };
    if (token.ptr != NULL) {
        call->token = (struct slice){copy + (token.ptr - raw.ptr), token.len};
    }
    *(list->last != NULL ? &list->last->next : &list->first) = call;
    list->last = call;
    list->count++;
    list->bytes += raw.len;
    entry->held = call;
    return call;
}

void held_take(struct held_list *list, struct held_call *call)
{
    *(call->prev != NULL ? &call->prev->next : &list->first) = call->next;
    *(call->next != NULL ? &call->next->prev : &list->last) = call->prev;
    list->count--;
    list->bytes -= call->raw.len;
    call->prev = call->next = NULL;
}

void held_free(struct held_call *call)
{
    free(call);
}

bool held_shared(const struct held_list *list, const struct held_call *call)
{
    for (const struct held_call *other = list->first; other != NULL; other = other->next) {
        if (other != call && other->claim.number == call->claim.number) {
            return true;
        }
    }
    return false;
}
