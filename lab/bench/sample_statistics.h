/* SPDX-License-Identifier: Apache-2.0 */
/* sample_statistics.h - statistics of repeated times, separated by the speed mode of the machine.
 *
 * On some machines AMX runs fast or slow for seconds at a time. A median over both modes would describe neither. A probe
 * (cpu_probe.h) before and after each sample identifies the mode, and each mode has a median of its own. */
#pragma once

#include <stdint.h>

#include "common/statistics.h"

/* clang-format off */
#define LAB_SPEED_MODE_LIST(X)                                                        \
    X(ANY,  "-")    /* there is only one mode, or it is unknown */                    \
    X(FAST, "fast")                                                             \
    X(SLOW, "slow")
/* clang-format on */

typedef enum lab_speed_mode {
#define X(name, word) LAB_SPEED_MODE_##name,
    LAB_SPEED_MODE_LIST(X)
#undef X
        LAB_SPEED_MODE_COUNT
} lab_speed_mode;

const char *lab_speed_mode_name(lab_speed_mode mode);

enum { LAB_SAMPLES_MAX = 4000, LAB_SAMPLES_MIN = 5, LAB_ROUND_MEDIANS_MAX = 200 };

/* Samples in the order in which they were taken; probes are 0 if there were none. A round has one sample of every contender.
 * The caller sets `round` before each sample. */
typedef struct lab_samples {
    int64_t round, count;
    int64_t rounds[LAB_SAMPLES_MAX];
    int64_t times[LAB_SAMPLES_MAX];
    double before[LAB_SAMPLES_MAX], after[LAB_SAMPLES_MAX];
} lab_samples;

/* Adds a sample; ignores it if there are LAB_SAMPLES_MAX already. */
void lab_samples_add(lab_samples *samples, int64_t time, double before, double after);

/* ci95_ns is half the width of the 95 % confidence interval of the median. Outliers are samples above Tukey's outer fence: the
 * third quartile plus three interquartile ranges, or plus 1 % if that is more. They count like all other samples. All members
 * are 0 for no samples. */
typedef struct lab_sample_summary {
    int64_t median_ns, min_ns, ci95_ns, samples, worst_ns, outliers;
} lab_sample_summary;

/* Returns the mode of the machine between two probes: fast if both reach 80 % of the best probe, slow if both are below
 * 60 %. */
lab_speed_mode lab_speed_mode_of(double before, double after, double best);

/* Summarises the samples of one mode; with LAB_SPEED_MODE_ANY, all samples. */
lab_sample_summary lab_samples_summary(const lab_samples *samples, lab_speed_mode mode, double best);

/* Medians of consecutive rounds, by which contenders or interleaved runs are paired. Each value covers 1, 2, 4, ... rounds,
 * so that LAB_ROUND_MEDIANS_MAX values cover all of them; 0: no sample of this mode. `count` ends at the last value that is
 * not 0. */
typedef struct lab_round_medians {
    int64_t rounds_per_value, count;
    int64_t times[LAB_ROUND_MEDIANS_MAX];
} lab_round_medians;

void lab_samples_round_medians(const lab_samples *samples, lab_speed_mode mode, double best, lab_round_medians *series);

/* Returns the median of the probes of these samples; 0 if there are none. */
double lab_samples_probe_median(const lab_samples *samples, lab_speed_mode mode, double best);
