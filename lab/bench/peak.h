/* SPDX-License-Identifier: Apache-2.0 */
/* peak.h - rung peak: measures the upper bounds of a device, arithmetic in registers and bandwidth of each memory level.
 *
 * Every loop checks what it computed before its time counts: a loop that the compiler shortened would appear as a very high
 * peak. */
#pragma once

#include <stdbool.h>

#include "bench/cpu_probe.h"
#include "bench/machine_conditions.h"
#include "rung/rung.h"

enum { LAB_PEAK_CEILINGS_MAX = 64 };

/* One upper bound. Either gflops or gb_s (10^9 bytes per second) is 0; both if it could not be measured. */
typedef struct lab_peak_ceiling {
    char name[32];       /* "fma f32", "read", "copy" */
    char level[16];      /* where the data is: "registers", "L1", "L2", "L3", "cache", "memory" */
    int64_t threads;     /* of the CPU; 0 for other devices */
    int64_t bytes;       /* of all threads together; 0 for registers */
    double gflops, gb_s; /* the best sample */
    int64_t samples;
    double spread; /* how far the median is below the best sample, in percent */
    bool is_wrong; /* the loop did not compute what it should */
    char why_not[256];
} lab_peak_ceiling;

typedef struct lab_peak {
    lab_peak_ceiling list[LAB_PEAK_CEILINGS_MAX];
    int count;
} lab_peak;

/* Adds a ceiling with this name and level. Returns NULL if there is no room. */
lab_peak_ceiling *lab_peak_add(lab_peak *peak, const char *name, const char *level);

/* Returns the best sample and the spread; sorts the samples. */
double lab_peak_best_sample(double *samples, int64_t count, double *spread);

/* Measures the CPU with one thread and with `threads` threads (peak_cpu.c). */
void lab_peak_measure_cpu(int64_t threads, lab_peak *peak);

/* Measures another device with two kernels of the lab (peak_device.c). */
void lab_peak_measure_device(rung_context *context, rung_device *device, rung_queue *queue, lab_peak *peak);

/* Prints the ceilings as a table or as JSON, schema rung-peak/1, to standard output (peak_print.c). */
void lab_peak_print_table(const rung_device_info *device, const lab_peak *peak);
void lab_peak_print_json(const rung_device_info *device, const lab_peak *peak, const lab_conditions *before,
                         const lab_conditions *after, const lab_warnings *warnings);

/* Returns LAB_EXIT_WRONG if a loop computed a wrong result, LAB_EXIT_UNAVAILABLE if nothing could be measured, else
 * LAB_EXIT_SUCCESS. */
int lab_peak_exit_code(const lab_peak *peak);
