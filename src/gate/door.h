/* A gate whose door is elsewhere: what a surface asks of it goes through these. The broker's client is one.
 *
 * gate.h says what each does. Whatever fails behind the door must be a deny. */
#ifndef GATE_DOOR_H
#define GATE_DOOR_H

#include "gate/gate.h"

struct offered_tool; /* gate/usable.h */

struct gate_door {
    struct outcome (*judge)(void *self, const struct call *call, const struct held *prior,
                            struct slice wanted_code, bool may_hold);
    struct outcome (*judge_unreadable)(void *self, uint32_t cause, struct slice tool, struct slice phrase,
                                       const struct came *came, const struct call_defaults *defaults);
    void (*start_from)(void *self, const struct path_base *base);
    bool (*servers)(void *self, struct arena *arena, struct slice **ret_names, size_t *ret_count);
    void (*note)(void *self, const struct event *event);
    bool (*commit)(void *self);
    void (*tick)(void *self);
    bool (*people_moved)(void *self);
    enum request_state (*held_state)(void *self, const struct held *held);
    void (*withdraw)(void *self, const struct held *held);
    bool (*reload)(void *self);
    /* As gate_usable_tools; false: it cannot be told, and nothing is written. */
    bool (*usable)(void *self, const struct call_defaults *session, const struct offered_tool *tools,
                   size_t count, bool *ret_usable);
    bool (*policy_moved)(void *self);
    void (*close)(void *self);
};

/* A gate of it, or NULL without memory (self stays the caller's then). gate_close closes it. */
MUST_USE struct gate *gate_of_door(const struct gate_door *door, void *self);

#endif
