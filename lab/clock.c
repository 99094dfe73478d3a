/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h. */
#include "clock.h"

#include <time.h>

const char *lab_clock_name(lab_clock clock)
{
    static const char *const names[] = {
#define X(name, word) word,
        LAB_CLOCK_LIST(X)
#undef X
    };
    return clock < LAB_CLOCK_COUNT ? names[clock] : "?";
}

int64_t lab_clock_now(lab_clock clock)
{
    struct timespec time;
    clock_gettime(clock == LAB_CLOCK_CPU ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t lab_now(void)
{
    return lab_clock_now(LAB_CLOCK_WALL);
}

void lab_rest(int64_t nanoseconds)
{
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    nanosleep(&time, NULL);
}
