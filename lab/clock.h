/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - what a time is a time of. */
#ifndef LAB_CLOCK_H
#define LAB_CLOCK_H

#include <stdint.h>

/* clang-format off */
#define LAB_CLOCK_LIST(X)                                                       \
    X(EVENT, "event") /* what the device says */                                \
    X(CPU,   "cpu")   /* of this process on its processors, all its threads */  \
    X(WALL,  "wall")
/* clang-format on */

typedef enum lab_clock {
#define X(name, word) LAB_CLOCK_##name,
    LAB_CLOCK_LIST(X)
#undef X
        LAB_CLOCK_COUNT
} lab_clock;

const char *lab_clock_name(lab_clock clock);

/* Nanoseconds of a clock that never goes back; of an event there is none, and it is wall time. */
int64_t lab_clock_now(lab_clock clock);

/* Wall time. */
int64_t lab_now(void);

/* Sleeps. */
void lab_rest(int64_t nanoseconds);

#endif /* LAB_CLOCK_H */
