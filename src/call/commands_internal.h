/* What commands.c and acts.c share; no other room includes it. */
#ifndef CALL_COMMANDS_INTERNAL_H
#define CALL_COMMANDS_INTERNAL_H

#include "call/walk_internal.h"

/* What one argument held. */
struct taken_list {
    struct command_list list;
    uint32_t value; /* index in the call's document */
};

struct command_state {
    struct taken_list *lists;
    size_t list_count, list_cap;
    uint32_t list_of[COMMANDS_MOST]; /* of each command */
    bool fewer_options
        [COMMANDS_MOST]; /* an inner one: its owner without options, of whose places it says nothing new */
    struct slice *words;
    size_t word_cap;
    struct buf joined;

    /* Where the command at hand starts: those that all commands of the call have, then what its changes of directory
     * lead to. */
    struct starts starts;
    size_t common; /* 0: not made yet */
    const struct command_cd *cd;
    struct starts meant;     /* what its strings of directories may mean besides */
    struct text_set counted; /* the texts of places, each once in a call */

    struct sink places, guesses; /* of the command at hand */
    struct sink hosts, guessed_hosts;
    struct sink looked;   /* what is only asked for whether it exists */
    struct text_set runs; /* of the same, each once */
    struct sink staged;   /* what is read aside of all commands so far: whole readings */
};

/* Finds what a command acts on, and stages what is read aside of it. */
MUST_USE bool acts_resolve(struct scratch *scratch, size_t index);

#endif
