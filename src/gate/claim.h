/* Claims: a gate before a server says in the state directory that the calls of that server come through it, so that a
 * hook of the same agent need not judge them a second time.
 *
 * A claim stands as long as its gate's process lives, for the agent that started the gate: the hook's own ancestor must
 * be the gate's parent. Whatever cannot be told is no claim. */
#ifndef GATE_CLAIM_H
#define GATE_CLAIM_H

#include "gate/sources.h"
#include "journal/journal.h"

/* By what a surface judges: files with their tiers, by their real names, or a broker's socket (NULL: files). Left out
 * are what every surface loads (the administrator's file), what is part of the program, workspace files, and the file
 * named `but` (may be NULL). False when that cannot be told. */
MUST_USE bool claim_terms(const struct sources *sources, const char *broker, const char *but,
                          char ret_hex[HASH_HEX + 1]);

struct claim;

/* Claims the calls of a server; NULL with a message. */
MUST_USE struct claim *claim_open(const char *state_dir, struct slice server, const char terms[HASH_HEX + 1],
                                  struct buf *ret_error);
void claim_close(struct claim *claim); /* may be NULL */

/* Whether a gate of the agent that runs this hook claims a server; `terms`: only one that judges by the same. */
bool claim_stands(const char *state_dir, struct slice server, const char *terms);

#endif
