/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h - mean, median and standard deviation of small arrays. */
#pragma once

#include <stdint.h>

/* Sorts in ascending order. */
void lab_sort_doubles(double *numbers, int64_t count);

/* Sorts `times` and returns their median, the mean of the middle two for an even count. Returns 0 for no times. */
int64_t lab_median(int64_t *times, int64_t count);

/* Returns the mean; 0 for no numbers. */
double lab_mean(const double *numbers, int64_t count);

/* Returns the sample standard deviation (divisor count - 1); 0 for fewer than two numbers. */
double lab_standard_deviation(const double *numbers, int64_t count);
