/* SPDX-License-Identifier: Apache-2.0 */
/* access_counters.h - counts the memory requests of a kernel's warps, per source line, on the emulator.
 *
 * NVRTC compiles the kernel to PTX for the GPU's architecture, and librung-emulator executes the PTX once. No GPU is
 * needed and nothing is timed. The counts follow from the addresses alone. Accesses that ptxas merges are one request, as
 * on a GPU. Local memory is not counted: arrays of a thread that stay in PTX's local memory become registers or spills. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/type_pair.h"
#include "rung/rung.h"
#include "explain/access_counter_list.h"

/* What to run. A and C are row-major; B is row-major unless `b_col_major` is set. A stride of 0 selects a dense
 * matrix; other strides place a block as in a larger matrix. */
typedef struct lab_access_request {
    const char *kernel;     /* name, number or file */
    const char *parameters; /* NULL: the parameters of a GPU, whatever its architecture */
    const char *arch;       /* "sm_86"; NULL: LAB_ACCESS_DEFAULT_ARCH */
    lab_type_pair product;
    rung_compute compute;
    int64_t m, n, k;
    int64_t a_stride, b_stride, c_stride;
    bool b_col_major;
    double
        seconds; /* limit of a run, at LAB_ACCESS_INSTRUCTIONS_PER_SECOND; 0: LAB_ACCESS_RUN_SECONDS, negative: none */
} lab_access_request;

/* A time limit is a limit of instructions of one warp, so that it does not depend on the machine. */
enum { LAB_ACCESS_RUN_SECONDS = 60, LAB_ACCESS_INSTRUCTIONS_PER_SECOND = 1000000 };
#define LAB_ACCESS_DEFAULT_ARCH "sm_86"

typedef enum lab_access_kind {
#define X(name, word) LAB_ACCESS_##name,
    LAB_ACCESS_KIND_LIST(X)
#undef X
        LAB_ACCESS_KIND_COUNT
} lab_access_kind;

/* Returns "global_load" and so on. */
const char *lab_access_kind_name(lab_access_kind kind);

typedef struct lab_access_totals {
#define X(name) int64_t name;
    LAB_ACCESS_TOTAL_LIST(X)
#undef X
} lab_access_totals;

/* Requests of one kind and width to one array. The line of an inlined function is the line in the kernel's own file. */
typedef struct lab_access_line {
    int64_t line;
    lab_access_kind kind;
    int64_t width;                         /* bytes per lane */
    char array[64];                        /* the kernel's name for the argument or the shared array */
    int64_t first_warp, first_offsets[32]; /* see rung_emulator_line */
#define X(name) int64_t name;
    LAB_ACCESS_LINE_LIST(X)
#undef X
} lab_access_line;

typedef struct lab_access_branch {
    int64_t line, passed, divergent; /* counted per warp */
} lab_access_branch;

typedef struct lab_access_barrier {
    int64_t line, passed; /* counted per block */
} lab_access_barrier;

/* A matrix: "a", "b" or "c". */
typedef struct lab_access_buffer {
    char name[64];
#define X(name) int64_t name;
    LAB_ACCESS_BUFFER_LIST(X)
#undef X
} lab_access_buffer;

typedef struct lab_access_counters {
    char kernel[64], file[256];             /* of the function and of its source */
    char parameters[RUNG_PARAMETERS_BYTES]; /* all parameters of the run */
    lab_access_totals totals;
    lab_access_line *lines;
    lab_access_branch *branches;
    lab_access_barrier *barriers;
    lab_access_buffer *buffers;
    int64_t line_count, branch_count, barrier_count, buffer_count;
} lab_access_counters;

/* Runs the request. `kernel` is the kernel of the cuda backend. `code` is its code, which another problem may have, or
 * NULL; code that does not fit is compiled again. Returns false, with a sentence in `why`, if NVRTC is missing or the
 * kernel is rejected, computes a wrong result or reads out of bounds. Thread-safe. The caller frees the counters. */
bool lab_access_counters_run(const lab_access_request *request, const rung_kernel *kernel, rung_code *code,
                             lab_access_counters *counters, char *why, size_t capacity);

/* Opens the kernel and runs the request. */
bool lab_access_counters_collect(const lab_access_request *request, lab_access_counters *counters, char *why,
                                 size_t capacity);
void lab_access_counters_free(lab_access_counters *counters);

/* Returns the sum of all requests of a kind to `array` (NULL: any) at `line` (0: all lines). The width is the largest
 * one. */
lab_access_line lab_access_counters_sum(const lab_access_counters *counters, int64_t line, lab_access_kind kind,
                                        const char *array);

/* Writes the parameters for a request: `given`, or those of a GPU if `given` is NULL. Returns false if they are too
 * long. */
bool lab_access_request_parameters(const rung_kernel *kernel, lab_type_pair product, const char *given,
                                   char text[RUNG_PARAMETERS_BYTES]);

/* ---- Internal: from the emulator's rows to the counters (emulated_counts.c) ---- */

struct rung_emulator;

/* The launch whose counts the emulator has. */
typedef struct lab_counted_launch {
    const char *entry;      /* name of the function */
    const char *file;       /* of its source */
    const char *source;     /* text of the file */
    const char *parameters; /* of the kernel; may be "" */
    int64_t threads_per_block, blocks;
} lab_counted_launch;

/* Returns the kind of a row of the emulator; LAB_ACCESS_KIND_COUNT for local memory, constants and what is no access. `kind`
 * is a rung_emulator_line_kind. */
lab_access_kind lab_access_kind_of(int kind);

/* Copies the kernel's name of an array, from the name in the PTX. */
void lab_access_array_name(const char *from, const char *source, char *name, size_t capacity);

/* Fills lines, branches, barriers, buffers and totals. Returns false if memory is exhausted. */
bool lab_access_counters_read(struct rung_emulator *emulator, const lab_counted_launch *launch,
                              lab_access_counters *counters);
