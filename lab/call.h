/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - what one rung_multiply consists of: its spans, their sums, and a picture of them
 * for chrome://tracing or ui.perfetto.dev. */
#ifndef LAB_CALL_H
#define LAB_CALL_H

#include <stdbool.h>

#include "json.h"
#include "rung/rung.h"

typedef struct lab_call_span {
    char name[64];
    int64_t queue, start, end, bytes;
} lab_call_span;

typedef struct lab_call {
    int64_t wall_ns;                 /* of the whole call */
    int64_t up_ns, down_ns, host_ns; /* sums: copies, and packing and unpacking */
    int64_t kernel_ns;               /* the time in which some kernel ran */
    double hidden_percent;           /* 100 (1 - (wall - kernel) / (up + down + host)) */
    lab_call_span *spans;
    int64_t span_count, span_capacity;
    bool incomplete; /* no memory for all spans */
} lab_call;

/* A context whose rung_multiply tells its spans. */
typedef struct lab_caller {
    rung_context *context;
    lab_call *call; /* under way */
} lab_caller;

rung_status lab_caller_open(const char *device, lab_caller *caller);
void lab_caller_close(lab_caller *caller);

/* Makes the call a few times, and keeps the one whose wall time is the median. */
rung_status lab_call_run(lab_caller *caller, const rung_problem *problem, lab_call *call);
void lab_call_free(lab_call *call);

/* The sums, from the spans and the wall time. */
void lab_call_sum(lab_call *call);

/* The events of one call in a trace's array, as a process of its own. */
void lab_call_trace(lab_json *json, int64_t process, const char *title, const lab_call *call);

#endif /* LAB_CALL_H */
