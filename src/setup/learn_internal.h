/* What a learner keeps. Nothing outside src/setup includes this. */
#ifndef SETUP_LEARN_INTERNAL_H
#define SETUP_LEARN_INTERNAL_H

#include "base/intern.h"
#include "setup/learn.h"

enum learn_kind {
    LEARN_PATHS,    /* canonical */
    LEARN_COMMANDS, /* texts of one command; under: the words that a prefix of it would have, or 0 */
    LEARN_TEXTS,    /* JSON of a command that is not readable; under: the argument's name */
    LEARN_HOSTS,
    LEARN_INPUTS, /* JSON of a whole input that names nothing */
};
#define LEARN_KINDS 5

struct learn_item {
    uint32_t text, under; /* of the learner's texts */
    uint32_t times;
};

struct learn_set {
    struct learn_item *list;
    size_t count, cap;
};

struct learn_group {
    uint32_t server, tool; /* of the texts; server 0: none */
    size_t calls;
    struct learn_set sets[LEARN_KINDS];
};

struct command_reader;

struct learner {
    struct arena arena;
    struct intern texts;
    struct command_reader *reader;
    struct learn_group *groups;
    size_t count, cap;
};

#endif
