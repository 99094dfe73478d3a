/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.c - see statistics.h. */
#include "common/statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare_int64(const void *x, const void *y)
{
    int64_t left = *(const int64_t *)x, right = *(const int64_t *)y;
    return (left > right) - (left < right);
}

static int compare_doubles(const void *x, const void *y)
{
    double left = *(const double *)x, right = *(const double *)y;
    return (left > right) - (left < right);
}

void lab_sort_doubles(double *numbers, int64_t count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, compare_doubles);
}

int64_t lab_median(int64_t *times, int64_t count)
{
    if (count == 0)
        return 0;
    qsort(times, (size_t)count, sizeof *times, compare_int64);
    return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

double lab_mean(const double *numbers, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += numbers[i];
    return count > 0 ? sum / (double)count : 0;
}

double lab_standard_deviation(const double *numbers, int64_t count)
{
    double mean = lab_mean(numbers, count), squares = 0;
    for (int64_t i = 0; i < count; i++)
        squares += (numbers[i] - mean) * (numbers[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}
