/* The clocks. The only place that asks the system for the time; everything else gets `now` as an argument. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "base/slice.h"

/* Milliseconds since 1970 on the wall clock, or INT64_MIN when the clock cannot be read: nothing is live
 * then. */
int64_t clock_wall_ms(void);

/* Milliseconds since boot, suspend included; negative when it cannot be read. */
int64_t clock_boot_ms(void);

/* Nanoseconds of a clock that only moves forward, for measuring. */
uint64_t clock_mono_ns(void);

/* Processor time of the calling thread, in nanoseconds: what other processes take from it does not count. */
uint64_t clock_thread_ns(void);

/* Writes "2026-11-29T20:00:00.000Z" and a NUL for a wall-clock time. Years 0000 to 9999; others are clamped.
 */
#define CLOCK_ISO_SIZE 25
void clock_iso8601(int64_t wall_ms, char out[CLOCK_ISO_SIZE]);

#endif
