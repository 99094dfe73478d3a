/* SPDX-License-Identifier: Apache-2.0 */
/* request_trace.h - records single memory requests of the first warps of a grid, for rung_emulator_set_trace().
 *
 * Each thread of a launch records the warps that it runs, as it counts them. The bounds are per warp and instruction, so that
 * the same requests are recorded with any number of threads. */
#pragma once

#include "emulator/counts/request_cost.h"

/* What the counter knows about a request. */
typedef struct ptx_traced_pattern {
    int32_t pc;
    int64_t array; /* as in ptx_count_entry_t */
    uint64_t array_start;
    ptx_request_cost_t cost;
} ptx_traced_pattern_t;

typedef struct ptx_traced_request {
    ptx_traced_pattern_t pattern;
    ptx_space_t space;
    ptx_access_t kind;
    int bytes; /* per lane, after merging */
    uint32_t mask;
    int64_t warp, order;
    uint64_t address[PTX_WARP_LANES];
} ptx_traced_request_t;

/* The trace of one thread. */
typedef struct ptx_trace {
    int64_t warps, requests; /* bounds */
    int32_t instruction_count;
    int32_t *recorded; /* requests of each warp and instruction */
    int64_t *order;    /* requests of each warp so far */
    ptx_traced_request_t *items;
    int64_t count, capacity;
    bool has_lost_requests; /* memory was short */
} ptx_trace_t;

/* Creates the trace of a thread; NULL if the emulator records nothing. Returns false if memory is short. */
bool rungi_ptx_trace_create(const ptx_launch_t *launch, ptx_trace_t **trace);
void rungi_ptx_trace_free(ptx_trace_t *trace);

/* Records a request, if it is within the bounds. */
void rungi_ptx_trace_add(ptx_trace_t *trace, const ptx_warp_t *warp, const ptx_request_t *request,
                         const ptx_traced_pattern_t *pattern);
