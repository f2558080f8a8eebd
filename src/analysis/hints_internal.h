/* The annotations that calls are tried with. For this room only.
 *
 * Of each hint that some rule asks about a call is tried as one that has it true, one that has it false, and one of which
 * it is not known: what no rule asks about makes no difference. */
#ifndef ANALYSIS_HINTS_INTERNAL_H
#define ANALYSIS_HINTS_INTERNAL_H

#include "call/call.h"

/* How many such calls there are for a set of hints: 1 for none. */
uint32_t hints_profiles(uint8_t hints);

/* Appends the member `annotations` of call number `profile`; of number 0, of which nothing is known, none. */
void hints_write_profile(struct buf *call, uint8_t hints, uint32_t profile);

/* Whether a match with these annotations has call number `profile`. */
bool hints_profile_in(uint8_t hints, uint32_t profile, uint32_t annotations);

#endif
