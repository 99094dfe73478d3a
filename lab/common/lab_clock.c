/* SPDX-License-Identifier: Apache-2.0 */
/* lab_clock.c - see lab_clock.h. */
#include "common/lab_clock.h"

#include <time.h>

#include "base/clock.h"
#include "common/enum_names.h"

LAB_DEFINE_ENUM_NAME(lab_clock_name, lab_clock, LAB_CLOCK_LIST)

int64_t lab_clock_now_ns(lab_clock clock)
{
    struct timespec time;
    if (clock != LAB_CLOCK_CPU)
        return rungi_clock_ns();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t lab_now_ns(void)
{
    return rungi_clock_ns();
}

void lab_sleep_ns(int64_t nanoseconds)
{
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = (long)(nanoseconds % 1000000000)};
    nanosleep(&time, NULL);
}

void lab_format_utc_time(const char *format, char *text, size_t capacity)
{
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(text, capacity, format, &utc) == 0)
        *text = '\0';
}
