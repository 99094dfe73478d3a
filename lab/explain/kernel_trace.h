/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_trace.h - single requests of a kernel's warps, and what the checks of the emulator found. `rung explain --html` draws
 * them; an explanation without a page has none. */
#pragma once

#include "explain/access_counters.h"
#include "findings/finding_list.h"
#include "io/json_writer.h"

/* The first warps of the grid, and the first requests of each of them per line, kind, width and array. The other bounds
 * keep the trace of a kernel with irregular addresses, or with very many lines, below about one megabyte of JSON. */
enum {
    LAB_TRACE_WARPS = 8,
    LAB_TRACE_STEPS = 32,
    LAB_TRACE_RUNS_MAX = 4,
    LAB_TRACE_PATTERNS_MAX = 3000,
    LAB_TRACE_TOTAL_STEPS = 40000
};

/* Requests with the same lanes, costs and distances between the lanes: the mask, the five costs of a step, and the offset of
 * each lane from that of the first active one. */
enum { LAB_TRACE_COSTS = 6, LAB_TRACE_PATTERN_LENGTH = LAB_TRACE_COSTS + 32 };
typedef int64_t lab_trace_pattern[LAB_TRACE_PATTERN_LENGTH];

/* One request of a warp. */
typedef struct lab_trace_step {
    int64_t warp, order;
    uint32_t mask;       /* lanes that took part */
    int64_t offsets[32]; /* bytes from the start of the array */
    int32_t sectors, lines, sectors_ideal, wavefronts, wavefronts_ideal;
    int64_t pattern; /* index among those of the trace */
} lab_trace_step;

/* The requests of one lab_access_line. */
typedef struct lab_trace_row {
    int64_t line;
    lab_access_kind kind;
    int64_t width;
    char array[64];
    int64_t start; /* of the array: its place in shared memory; 0 in global memory, where arrays begin a cache line */
    int64_t requests; /* of the row in the traced run; at least `step_count` */
    lab_trace_step *steps;
    int64_t step_count;
} lab_trace_row;

typedef struct lab_kernel_trace {
    int64_t sizes[LAB_TRACE_RUNS_MAX][3]; /* of the checked runs; the first one is traced */
    int run_count;
    int64_t threads_per_block, blocks; /* of the traced run */
    lab_trace_row *rows;
    int64_t row_count;
    lab_trace_pattern *patterns;
    int64_t pattern_count;
    lab_finding_list findings;
} lab_kernel_trace;

/* Returns an empty trace; NULL if memory is exhausted. */
lab_kernel_trace *lab_kernel_trace_create(void);
void lab_kernel_trace_free(lab_kernel_trace *trace);

/* Adds the size of a run. */
void lab_kernel_trace_begin_run(lab_kernel_trace *trace, int64_t m, int64_t n, int64_t k);

/* Copies the requests that the emulator recorded. Returns false if memory is exhausted. */
bool lab_kernel_trace_read(struct rung_emulator *emulator, const lab_counted_launch *launch, lab_kernel_trace *trace);

/* Runs the request with all checks and records single requests and findings. A wrong result does not make it fail. */
bool lab_access_trace_run(const lab_access_request *request, const rung_kernel *kernel, rung_code *code,
                          lab_kernel_trace *trace, char *why, size_t capacity);

/* Returns the row of the trace with the requests of a line; NULL if none was recorded. */
const lab_trace_row *lab_kernel_trace_find(const lab_kernel_trace *trace, const lab_access_line *line);

/* Writes the fields "trace" and "checks" of an open JSON object. The rows of the trace refer to `lines` of the counters. */
void lab_kernel_trace_write(lab_json *json, const lab_kernel_trace *trace, const lab_access_counters *counters);
