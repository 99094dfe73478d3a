/* SPDX-License-Identifier: Apache-2.0 */
/* lab_clock.h - the clocks of the lab: elapsed time, processor time and the time of day. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a measured time is based on. */
/* clang-format off */
#define LAB_CLOCK_LIST(X)                                                      \
    X(EVENT, "event") /* timestamps of the device */                           \
    X(CPU,   "cpu")   /* processor time of this process, all threads */        \
    X(WALL,  "wall")  /* elapsed time */
/* clang-format on */

typedef enum lab_clock {
#define X(name, word) LAB_CLOCK_##name,
    LAB_CLOCK_LIST(X)
#undef X
        LAB_CLOCK_COUNT
} lab_clock;

const char *lab_clock_name(lab_clock clock);

/* Returns the nanoseconds of a monotonic clock. LAB_CLOCK_EVENT has no clock on the host and returns elapsed time. */
int64_t lab_clock_now_ns(lab_clock clock);

/* Returns the nanoseconds of elapsed time since an arbitrary moment. */
int64_t lab_now_ns(void);

/* Sleeps for `nanoseconds`, less if a signal arrives. */
void lab_sleep_ns(int64_t nanoseconds);

/* Formats the current time of day (UTC) as strftime() does; "" on failure. */
void lab_format_utc_time(const char *format, char *text, size_t capacity) __attribute__((format(strftime, 1, 0)));
