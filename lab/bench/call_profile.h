/* SPDX-License-Identifier: Apache-2.0 */
/* call_profile.h - measures what one rung_multiply() consists of: copies, kernels and packing. Writes them as a trace for
 * chrome://tracing or ui.perfetto.dev. */
#pragma once

#include <stdbool.h>

#include "io/json_writer.h"
#include "rung/rung.h"

typedef struct lab_call_span {
    char name[64];
    int64_t queue, start, end, bytes;
} lab_call_span;

typedef struct lab_call_profile {
    int64_t wall_ns;                               /* of the whole call */
    int64_t to_device_ns, from_device_ns, host_ns; /* sums of copies, and of packing and unpacking */
    int64_t kernel_ns;                             /* time during which at least one kernel ran */
    double hidden_percent;                         /* of copies and packing that overlap with kernels */
    lab_call_span *spans;
    int64_t span_count;
    bool incomplete; /* memory ran out */
} lab_call_profile;

/* A context that records the spans of its calls. */
typedef struct lab_call_profiler {
    rung_context *context;
    lab_call_profile *call; /* being recorded */
} lab_call_profiler;

/* Creates the context, which the caller destroys. */
rung_status lab_call_profiler_open(const char *device, lab_call_profiler *profiler);

/* Makes several calls and returns the one with the median wall time. */
rung_status lab_call_profile_measure(lab_call_profiler *profiler, const rung_problem *problem, lab_call_profile *call);
void lab_call_profile_free(lab_call_profile *call);

/* Computes the sums from the spans and the wall time. */
void lab_call_profile_sum(lab_call_profile *call);

/* Writes the events of one call to the array of a trace, as a process of its own. */
void lab_call_profile_write_trace(lab_json *json, int64_t process, const char *title, const lab_call_profile *call);
