/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - times of the same thing, what they come to, and which mode the machine was in.
 *
 * Matrix tiles run fast or slow for seconds at a time on some machines, whoever uses them. A
 * median over both would be of neither: a probe (probe.h) before and after each sample tells
 * them apart, and medians are taken of each alone. */
#ifndef LAB_SAMPLES_H
#define LAB_SAMPLES_H

#include <stdint.h>

#define LAB_MODE_LIST(X)                                                        \
    X(ANY,  "-")    /* there is but one, or it is unclear */                    \
    X(FAST, "fast")                                                             \
    X(SLOW, "slow")

typedef enum lab_mode {
#define X(name, word) LAB_MODE_##name,
    LAB_MODE_LIST(X)
#undef X
    LAB_MODE_COUNT
} lab_mode;

const char *lab_mode_name(lab_mode mode);

enum { LAB_SAMPLES_MAX = 4000, LAB_SAMPLES_MIN = 5 };

/* In the order in which they were taken; probes are 0 where there were none. */
typedef struct lab_samples {
    int64_t count;
    int64_t times[LAB_SAMPLES_MAX];
    double  before[LAB_SAMPLES_MAX], after[LAB_SAMPLES_MAX];
} lab_samples;

/* A sample more; those past the last are dropped. */
void lab_samples_add(lab_samples *samples, int64_t time, double before, double after);

/* ci95 is half the width of the median's interval. All 0 of no samples. */
typedef struct lab_spread {
    int64_t median_ns, min_ns, ci95_ns, samples;
} lab_spread;

/* Which mode the machine was in between two probes, by the best that was ever seen: fast if
 * both are within a fifth of it, slow if both are below 60 per cent. */
lab_mode lab_mode_of(double before, double after, double best);

/* Of the samples of one mode, or with LAB_MODE_ANY of all. */
lab_spread lab_samples_spread(const lab_samples *samples, lab_mode mode, double best);

/* The median of the probes beside such samples, 0 if there were none. */
double lab_samples_probe(const lab_samples *samples, lab_mode mode, double best);

/* The same of plain times. */
int64_t lab_median(int64_t *times, int64_t count);

#endif /* LAB_SAMPLES_H */
