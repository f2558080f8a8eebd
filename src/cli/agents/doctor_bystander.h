/* What stands outside a confinement while doctor tries to get out of it: a process to be signalled and traced, another
 * terminal, a socket in the state directory. They are doctor's own, so that nothing else is disturbed where a try
 * succeeds, and they tell by themselves what reached them. */
#ifndef CLI_DOCTOR_BYSTANDER_H
#define CLI_DOCTOR_BYSTANDER_H

#include <sys/types.h>

#include "base/buffer.h"

struct bystander {
    pid_t victim;
    int victim_in, victim_out, primary, listener; /* -1: none */
    char terminal[64];                            /* its name */
    char socket[108]; /* its name; "": the state directory's name is too long for one */
};

struct bystander_saw {
    bool signal, terminal, socket;
};

/* Starts them; `probe` is the path of callgate-confine-probe. False with errno set; finish it all the same. */
MUST_USE bool bystander_start(struct bystander *ret_bystander, const char *probe, const char *state_dir);
void bystander_finish(struct bystander *bystander);

/* What has reached them since the last time. */
struct bystander_saw bystander_look(struct bystander *bystander);

#endif
