/* SHA-256 piece by piece, inside this room. journal.h has the calls for everyone else.
 *
 * A hasher is a plain value: it owns nothing, and may be used again and again. */
#ifndef JOURNAL_HASH_INTERNAL_H
#define JOURNAL_HASH_INTERNAL_H

#include <openssl/sha.h>
#include <stdint.h>

#include "base/slice.h"

struct hasher {
    SHA256_CTX context; /* hash.c alone looks into it */
};

/* Begins a new hash, whatever state the hasher was in. */
MUST_USE bool hasher_begin(struct hasher *hasher);
MUST_USE bool hasher_add(struct hasher *hasher, struct slice bytes);
MUST_USE bool hasher_end(struct hasher *hasher, uint8_t ret_hash[32]);

#endif
