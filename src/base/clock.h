/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the one clock for durations and deadlines. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Returns the nanoseconds since an arbitrary moment. Changes of the system time do not affect them. */
static inline int64_t rungi_clock_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
