/* Random bytes from the system. The only place that asks for them below the rooms that use libcrypto. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include "base/slice.h"

/* Fills out with `len` bytes of the kernel's generator; false, with out unspecified, when it gives none. */
MUST_USE bool random_bytes(void *out, size_t len);

#endif
