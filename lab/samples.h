/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - times of the same thing, what they come to, and which mode the machine was in.
 *
 * Matrix tiles run fast or slow for seconds at a time on some machines, whoever uses them. A
 * median over both would be of neither: a probe (probe.h) before and after each sample tells
 * them apart, and medians are taken of each alone. */
#ifndef LAB_SAMPLES_H
#define LAB_SAMPLES_H

#include <stdint.h>

/* clang-format off */
#define LAB_MODE_LIST(X)                                                        \
    X(ANY,  "-")    /* there is but one, or it is unclear */                    \
    X(FAST, "fast")                                                             \
    X(SLOW, "slow")
/* clang-format on */

typedef enum lab_mode {
#define X(name, word) LAB_MODE_##name,
    LAB_MODE_LIST(X)
#undef X
        LAB_MODE_COUNT
} lab_mode;

const char *lab_mode_name(lab_mode mode);

enum { LAB_SAMPLES_MAX = 4000, LAB_SAMPLES_MIN = 5, LAB_SERIES_MAX = 200 };

/* In the order in which they were taken; probes are 0 where there were none. A round is a turn of
 * all contenders: whoever has them take turns says which it is. */
typedef struct lab_samples {
    int64_t round, count;
    int64_t rounds[LAB_SAMPLES_MAX];
    int64_t times[LAB_SAMPLES_MAX];
    double before[LAB_SAMPLES_MAX], after[LAB_SAMPLES_MAX];
} lab_samples;

/* A sample more; those past the last are dropped. */
void lab_samples_add(lab_samples *samples, int64_t time, double before, double after);

/* ci95 is half the width of the median's interval. Outliers are samples above Tukey's outer fence,
 * the third quartile and three interquartile ranges (or 1 % of it, where those are less); they
 * count like all others. All 0 of no samples. */
typedef struct lab_spread {
    int64_t median_ns, min_ns, ci95_ns, samples, worst_ns, outliers;
} lab_spread;

/* Which mode the machine was in between two probes, by the best that was ever seen: fast if
 * both are within a fifth of it, slow if both are below 60 per cent. */
lab_mode lab_mode_of(double before, double after, double best);

/* Of the samples of one mode, or with LAB_MODE_ANY of all. */
lab_spread lab_samples_spread(const lab_samples *samples, lab_mode mode, double best);

/* What two contenders, or two runs in lock-step, can be paired by: the medians of so many rounds each that
 * no more than LAB_SERIES_MAX cover all of its rounds, 1, 2, 4 and so on, 0 where there was no sample of that mode; up to the
 * last that is not 0. */
typedef struct lab_series {
    int64_t of, count;
    int64_t times[LAB_SERIES_MAX];
} lab_series;

void lab_samples_series(const lab_samples *samples, lab_mode mode, double best, lab_series *series);

/* The median of the probes beside such samples, 0 if there were none. */
double lab_samples_probe(const lab_samples *samples, lab_mode mode, double best);

/* From the smallest to the largest. */
void lab_sort(double *numbers, int64_t count);

/* The same of plain times. */
int64_t lab_median(int64_t *times, int64_t count);

#endif /* LAB_SAMPLES_H */
