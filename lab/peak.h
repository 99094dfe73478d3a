/* SPDX-License-Identifier: Apache-2.0 */
/* peak.h - what a machine can do at most, measured: arithmetic alone, and data alone from each level
 * of its memory. The roof that kernels are held against.
 *
 * What a loop must have computed is looked at before its time counts: one that a compiler made
 * shorter would be a very high roof. */
#ifndef LAB_PEAK_H
#define LAB_PEAK_H

#include <stdbool.h>

#include "rung/rung.h"

enum { LAB_CEILINGS_MAX = 64 };

/* One of gflops and gb_s (10^9 bytes a second) is 0; both where it could not be measured. */
typedef struct lab_ceiling {
    char name[32];       /* "fma f32", "read", "copy" */
    char level[16];      /* where the data is: "registers", "L1", "L2", "L3", "cache", "memory" */
    int64_t threads;     /* of the CPU, else 0 */
    int64_t bytes;       /* that all threads work on together, 0 for registers */
    double gflops, gb_s; /* the best of the samples */
    int64_t samples;
    double spread; /* how far the median is below the best, in per cent of that */
    bool is_wrong; /* the loop did not do its work */
    char why_not[256];
} lab_ceiling;

typedef struct lab_peak {
    lab_ceiling list[LAB_CEILINGS_MAX];
    int count;
} lab_peak;

/* The next ceiling, with its name and level; NULL if there is no room. */
lab_ceiling *lab_peak_add(lab_peak *peak, const char *name, const char *level);

/* The best of the samples and their spread; changes their order. */
double lab_peak_best(double *samples, int64_t count, double *spread);

/* The processor: one thread, and so many. (peak.c) */
void lab_peak_cpu(int64_t threads, lab_peak *peak);

/* A device of blocks and threads, through two kernel files of our own. (peak_device.c) */
void lab_peak_device(rung_context *context, rung_device *device, rung_queue *queue, lab_peak *peak);

#endif /* LAB_PEAK_H */
