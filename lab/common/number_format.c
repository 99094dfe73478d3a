/* SPDX-License-Identifier: Apache-2.0 */
/* number_format.c - see number_format.h. */
#include "common/number_format.h"

#include <stdio.h>

void lab_format_ms(int64_t nanoseconds, char *text, size_t capacity)
{
    double ms = (double)nanoseconds * 1e-6;
    int decimals = ms >= 1000 ? 0 : ms >= 10 ? 1 : ms >= 0.1 ? 3 : ms >= 0.01 ? 4 : ms >= 0.001 ? 5 : 6;
    snprintf(text, capacity, "%.*f", decimals, ms);
}

void lab_format_bytes(double bytes, char *text, size_t capacity)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, capacity, "%.4g %s", bytes, units[unit]);
}
