/* SHA-256 piece by piece, inside this room. journal.h has the calls for everyone else.
 *
 * A hasher owns a context of libcrypto until hasher_finish; it may be used again and again. */
#ifndef JOURNAL_HASH_H
#define JOURNAL_HASH_H

#include <stdint.h>

#include "base/slice.h"

struct hasher {
    void *context; /* EVP_MD_CTX; hash.c alone knows it */
};

MUST_USE bool hasher_init(struct hasher *hasher);
void hasher_finish(struct hasher *hasher);

/* Begins a new hash, whatever state the hasher was in. */
MUST_USE bool hasher_begin(struct hasher *hasher);
MUST_USE bool hasher_add(struct hasher *hasher, struct slice bytes);
MUST_USE bool hasher_end(struct hasher *hasher, uint8_t ret_hash[32]);

#endif
