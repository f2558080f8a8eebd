/* A person's answer to requests, for the commands that count one. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include "cli/options.h"

struct answering {
    bool yes;
    bool once, call;             /* how far a yes goes; neither: as far as the rule allows */
    bool may_ask;                /* a terminal may be asked how far */
    enum people_surface surface; /* what has authenticated who answers: the system, or a bridge */
    const char *as;      /* the name that they say they have; of a bridge, whom it vouches for. NULL: none */
    const char *people;  /* a people.json other than the standard one; NULL: that */
    const char *because; /* why not; NULL: unsaid */
    const char
        *rule; /* every request of this rule, in place of codes; NULL: the codes that the options hold */
};

/* Counts the answer for each code of options->argv, says what became of each, and what else was released.
 * Returns the exit code. */
int answer_requests(const struct cli_command *command, struct options *options,
                    const struct answering *answering);

/* Appends what an approval of a request covers. */
void answer_write_covers(struct buf *out, const struct request *request, enum approval_scope scope);

#endif
