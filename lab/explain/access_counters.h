/* SPDX-License-Identifier: Apache-2.0 */
/* access_counters.h - counts the memory requests of a kernel's warps, per source line, on a simulator.
 *
 * The counters come from a child process: this command runs itself again under Oclgrind with our plugin
 * (tools/access_counters) and multiplies once. No GPU is needed and nothing is timed. The counts follow from the
 * addresses alone, with one request per access in the source. NVIDIA's compilers merge some requests where an unrolled
 * loop reads neighbours (04, 06, 07). Ten million instructions take seconds, so the problem should be one block or a
 * few blocks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/type_pair.h"
#include "rung/rung.h"
#include "explain/access_counter_list.h"
#include "process/oclgrind_process.h"

/* What to run. A and C are row-major; B is row-major unless `b_col_major` is set. A stride of 0 selects a dense
 * matrix; other strides place a block as in a larger matrix. */
typedef struct lab_access_request {
    const char *kernel;     /* name, number or file */
    const char *parameters; /* NULL: the parameters of a GPU, whatever its architecture */
    lab_type_pair product;
    rung_compute compute;
    int64_t m, n, k;
    int64_t a_stride, b_stride, c_stride;
    bool b_col_major;
    double seconds; /* time limit; 0: LAB_ACCESS_RUN_SECONDS, negative: none */
} lab_access_request;

enum { LAB_ACCESS_RUN_SECONDS = 600 };

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

/* Requests of one kind and width to one array. An inlined function's `line` may be called from several lines of the
 * kernel: `call_line` is the calling line, or `line` itself where nothing was called. */
typedef struct lab_access_line {
    int64_t line, call_line;
    lab_access_kind kind;
    int64_t width;  /* bytes per lane */
    char array[64]; /* the kernel's name for the argument or the shared array */
#define X(name) int64_t name;
    LAB_ACCESS_LINE_LIST(X)
#undef X
} lab_access_line;

typedef struct lab_access_branch {
    int64_t line, call_line, passed, divergent; /* counted per warp */
} lab_access_branch;

typedef struct lab_access_barrier {
    int64_t line, passed; /* counted per block */
} lab_access_barrier;

/* A buffer by the kernel's name for it; "places+partials" if two arguments are the same buffer. */
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

/* Runs the request within its time limit. Returns false, with a sentence in `why`, if the tools are missing or the
 * kernel is rejected, computes a wrong result or reads out of bounds. Thread-safe. The caller frees the counters. */
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

/* Paths of Oclgrind's driver and of the plugin; "" for a missing tool. */
typedef struct lab_access_counter_tools {
    char oclgrind[LAB_EXECUTABLE_PATH_BYTES], plugin[LAB_EXECUTABLE_PATH_BYTES + 128];
} lab_access_counter_tools;

/* Finds the tools: RUNG_OCLGRIND and RUNG_MICROSCOPE if they are set, else the usual folders. Returns true if both
 * exist. */
bool lab_access_counter_tools_find(lab_access_counter_tools *tools);

/* The format of a request's numbers, which are one argument of the child: compute mode, whether B is column-major, sizes
 * and strides. `number` is PRId64 or SCNd64. */
#define LAB_ACCESS_CHILD_NUMBERS(number) "%d,%d,%" number ",%" number ",%" number ",%" number ",%" number ",%" number

/* Runs the child's part. main() must check first whether this process was started as a child. */
bool lab_access_counters_is_child(int argc, char **argv);
int lab_access_counters_child_main(int argc, char **argv);
