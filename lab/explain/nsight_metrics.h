/* SPDX-License-Identifier: Apache-2.0 */
/* nsight_metrics.h - the numbers of an explanation under the names of Nsight Compute, and beside those that it measured. */
#pragma once

#include "explain/explain.h"

/* Prints the metrics of an explanation: value, origin and meaning, and beside them the values of explanation->nsight_file,
 * unless it is NULL. */
void lab_explanation_print_metrics(const lab_explanation *explanation);

/* Writes the same as an array of an open JSON object. */
void lab_explanation_write_metrics(lab_json *json, const lab_explanation *explanation);

/* ---- Files of Nsight Compute (nsight_csv.c) ---- */

enum { LAB_NSIGHT_METRICS_MAX = 64 };

/* The names to look for, and what was found: NAN where the file has no value. Values are in bytes, nanoseconds, percent or
 * plain numbers, whatever prefix the file has. */
typedef struct lab_nsight_values {
    const char *names[LAB_NSIGHT_METRICS_MAX];
    double values[LAB_NSIGHT_METRICS_MAX];
    int count;
    char kernel[256]; /* as the file names it; "" if it does not */
} lab_nsight_values;

/* Reads the values of one kernel: the first one whose name contains `kernel`, or the first of the file if none does. Both
 * layouts are read: one metric per row (the default of ncu --csv with --print-metric-name name, or --metrics), and one kernel
 * per row (--page raw). Returns false, with a sentence in `why`, if the file cannot be read or has no metrics. */
bool lab_nsight_read(const char *path, const char *kernel, lab_nsight_values *values, char *why, size_t capacity);
