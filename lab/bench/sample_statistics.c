/* SPDX-License-Identifier: Apache-2.0 */
/* sample_statistics.c - see sample_statistics.h. */
#include "bench/sample_statistics.h"

#include <math.h>
#include <stdbool.h>

#include "common/enum_names.h"

LAB_DEFINE_ENUM_NAME(lab_speed_mode_name, lab_speed_mode, LAB_SPEED_MODE_LIST)

void lab_samples_add(lab_samples *samples, int64_t time, double before, double after)
{
    if (samples->count == LAB_SAMPLES_MAX)
        return;
    samples->rounds[samples->count] = samples->round;
    samples->times[samples->count] = time;
    samples->before[samples->count] = before;
    samples->after[samples->count] = after;
    samples->count++;
}

lab_speed_mode lab_speed_mode_of(double before, double after, double best)
{
    if (!(before > 0 && after > 0 && best > 0))
        return LAB_SPEED_MODE_ANY;
    if (before >= 0.8 * best && after >= 0.8 * best)
        return LAB_SPEED_MODE_FAST;
    return before < 0.6 * best && after < 0.6 * best ? LAB_SPEED_MODE_SLOW : LAB_SPEED_MODE_ANY;
}

static bool is_in_mode(const lab_samples *samples, int64_t i, lab_speed_mode mode, double best)
{
    return mode == LAB_SPEED_MODE_ANY || lab_speed_mode_of(samples->before[i], samples->after[i], best) == mode;
}

/* Counts the outliers of sorted times. Times that differ only by the resolution of the clock are no outliers. */
static int64_t count_outliers(const int64_t *sorted, int64_t n)
{
    int64_t low = sorted[n / 4], high = sorted[n - 1 - n / 4], count = 0;
    int64_t reach = 3 * (high - low) > high / 100 ? 3 * (high - low) : high / 100;
    while (count < n && sorted[n - 1 - count] - high > reach)
        count++;
    return count;
}

/* The confidence interval uses ranks, which require no particular distribution. */
lab_sample_summary lab_samples_summary(const lab_samples *samples, lab_speed_mode mode, double best)
{
    int64_t sorted[LAB_SAMPLES_MAX], n = 0;
    for (int64_t i = 0; i < samples->count; i++)
        if (is_in_mode(samples, i, mode, best))
            sorted[n++] = samples->times[i];
    if (n == 0)
        return (lab_sample_summary){0};
    int64_t median = lab_median(sorted, n);
    double half = 0.98 * sqrt((double)n); /* 1.96 / 2 */
    int64_t low = (int64_t)floor((double)n / 2 - half), high = (int64_t)ceil((double)n / 2 + half);
    low = low < 0 ? 0 : low;
    high = high > n - 1 ? n - 1 : high;
    return (lab_sample_summary){.median_ns = median,
                                .min_ns = sorted[0],
                                .ci95_ns = (sorted[high] - sorted[low]) / 2,
                                .samples = n,
                                .worst_ns = sorted[n - 1],
                                .outliers = count_outliers(sorted, n)};
}

void lab_samples_round_medians(const lab_samples *samples, lab_speed_mode mode, double best, lab_round_medians *series)
{
    int64_t group[LAB_SAMPLES_MAX], i = 0;
    int64_t rounds = samples->count > 0 ? samples->rounds[samples->count - 1] + 1 : 0;
    *series = (lab_round_medians){.rounds_per_value = 1};
    while (series->rounds_per_value * LAB_ROUND_MEDIANS_MAX < rounds)
        series->rounds_per_value *= 2;
    for (int64_t at = 0; at < LAB_ROUND_MEDIANS_MAX; at++) {
        int64_t n = 0;
        for (; i < samples->count && samples->rounds[i] < (at + 1) * series->rounds_per_value; i++)
            if (is_in_mode(samples, i, mode, best))
                group[n++] = samples->times[i];
        series->times[at] = lab_median(group, n);
        if (n > 0)
            series->count = at + 1;
    }
}

double lab_samples_probe_median(const lab_samples *samples, lab_speed_mode mode, double best)
{
    double sorted[2 * LAB_SAMPLES_MAX];
    int64_t n = 0;
    for (int64_t i = 0; i < samples->count; i++)
        if (samples->before[i] > 0 && samples->after[i] > 0 && is_in_mode(samples, i, mode, best)) {
            sorted[n++] = samples->before[i];
            sorted[n++] = samples->after[i];
        }
    lab_sort_doubles(sorted, n);
    return n > 0 ? (sorted[n / 2 - 1] + sorted[n / 2]) / 2 : 0;
}
