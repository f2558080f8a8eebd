/* The three standard descriptors. */
#ifndef BASE_STANDARD_H
#define BASE_STANDARD_H

#include "base/slice.h"

/* Puts something harmless in the place of each standard descriptor that is closed, so that no file that is
 * opened later becomes one: what is said would go into it. From such an input nothing is read, and writing to
 * such an output fails. False when that cannot be done. */
MUST_USE bool standard_hold(void);

/* Writes a text to standard error as far as it goes without waiting for a reader. False when some of it is lost,
 * because nobody empties the pipe, the socket or the terminal: a gate must go on judging then. */
MUST_USE bool standard_error_offer(struct slice text);

#endif
