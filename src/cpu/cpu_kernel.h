/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_kernel.h - the interface between CPU plans (cpu_plan.c) and CPU kernels (kernels/). */
#pragma once

#include "core/matrix.h"
#include "cpu/features.h"
#include "cpu/packed_header.h"

/* A matrix that is read: element (i, j) is first[i * row_stride + j * col_stride]. */
typedef struct rungi_cpu_input {
    const void *first;
    int64_t row_stride, col_stride;
} rungi_cpu_input;

/* A matrix that is written. */
typedef struct rungi_cpu_output {
    void *first;
    int64_t row_stride, col_stride;
} rungi_cpu_output;

/* A matrix of narrow elements that is dequantized while it is packed (cpu_dequantize.h): a B as k x n, or a quantized A as its
 * transpose, k x m. Two elements may share a byte, so `memory` is the start of the memory, and element (i, j) has the number
 * offset + i * row_stride + j * col_stride. */
typedef struct rungi_cpu_narrow {
    rung_type type;     /* RUNG_TYPE_NONE: the matrix is not narrow */
    bool is_transposed; /* element (i, j) has the scale of element (j, i) of the caller's matrix */
    const void *memory;
    int64_t row_stride, col_stride, offset;
    int64_t first_col;                         /* of the whole matrix, where element (0, 0) is */
    const rung_quantization *quantization;     /* its views are in host memory, and block sizes are not 0. NULL: none */
    int64_t scales_offset, zero_points_offset; /* elements from `data` to element (0, 0), for this item of a batch */
} rungi_cpu_narrow;

/* What a kernel chooses once per plan. The choice depends on the whole problem, never on one thread's block of it: each
 * element of C is summed in the same way however C is partitioned. */
typedef struct rungi_cpu_kernel_config {
    int64_t problem_n;        /* columns of C in the whole problem; a job may have fewer */
    int path;                 /* code path; each kernel numbers its own */
    int64_t grain_m, grain_n; /* C is partitioned between threads at multiples of these */
    double shared_line_cost;  /* of a line of C that two blocks write: multiply-adds in its time, per step of k */
    int64_t kc, nc;           /* block sizes along k and n, if the kernel has them */
    int64_t chunk;            /* elements of A along k that are packed at a time (15) */
    int64_t max_cached; /* most packed rows (10) or slices (12) that a job may cache: scratch has room for these */
    int64_t scratch;    /* bytes per thread */
    bool is_slow;       /* another kernel is faster for this problem: select this one by name only */
    bool is_transposed; /* C^T = B^T A^T is computed, because C is column-major */
    bool has_packed_b;  /* B is given packed in the layout `packed` */
    rungi_packed_layout packed; /* depends on k, n, types and parameters, never on m */
} rungi_cpu_kernel_config;

/* C = alpha * A * B + beta * C and its epilogue, with m, n > 0: one item of a batch, or one thread's block of it. A kernel
 * reads neither A nor B where k is 0, and does not read C where beta is 0. */
typedef struct rungi_cpu_job {
    rung_type in, out; /* of A and C. F32 if A is quantized: its elements become F32 when they are packed */
    rung_type b_type;  /* differs from `in` if B is quantized or narrower than A */
    int64_t m, n, k;
    double alpha, beta;
    rungi_cpu_input a, b;
    rungi_cpu_narrow narrow_a, narrow_b; /* a.first and b.first of such a matrix are not used */
    rungi_cpu_output c;
    rungi_cpu_input bias, multiplier, residual; /* first is NULL if there is none */
    rungi_cpu_input addend; /* the C that is read if D is another matrix, else NULL; beta is 0 then ... */
    double addend_factor;   /* ... and the problem's beta is here */
    rung_activation activation;
    const rungi_cpu_kernel_config *config;
    const rungi_cpu_features *features;
    const int64_t *parameters; /* in the order of the kernel's file */
    char *scratch;             /* config->scratch bytes, 4096-byte aligned */
    const char *packed;        /* all of B in config->packed's layout, 64-byte aligned, or NULL */
    int64_t first_col;         /* column of the whole problem where this job begins */
} rungi_cpu_job;

/* Returns whether the elements of a column of B follow each other: its blocks lie along k, or its row stride is 1. */
static inline bool rungi_cpu_job_has_b_along_k(const rungi_cpu_job *job)
{
    if (rungi_type_has_scales(job->b_type))
        return !rungi_blocks_lie_in_rows(job->k, job->n, job->b.row_stride, job->b.col_stride);
    return job->b.row_stride == 1;
}

/* Where a matrix of each item of a batch begins: at `first`, and then `stride` bytes apart, or where the offsets say. */
typedef struct rungi_cpu_item_addresses {
    char *first; /* of item 0; NULL if the matrix is absent */
    int64_t stride;
    const int64_t *offsets; /* in elements; NULL if the items are equally spaced */
    int64_t element;        /* bytes */
} rungi_cpu_item_addresses;

static inline char *rungi_cpu_item_address(const rungi_cpu_item_addresses *matrix, int64_t item)
{
    return matrix->first + (matrix->offsets ? matrix->offsets[item] * matrix->element : item * matrix->stride);
}

/* Items first ... end - 1 of a batch. */
typedef struct rungi_cpu_items {
    int64_t first, end;
    rungi_cpu_item_addresses a, b, c;
} rungi_cpu_items;

/* A step of the ladder. cpu_plan.c handles threads, batches and transposition. */
typedef struct rungi_cpu_kernel {
    void (*run)(const rungi_cpu_job *job);
    /* Optional: computes several items without an epilogue. The job is that of the first one. */
    void (*run_items)(const rungi_cpu_job *job, const rungi_cpu_items *items);
    /* Optional: fills `config`, which begins with no scratch and grains of 1, or rejects the problem: returns
     * RUNG_STATUS_UNSUPPORTED with a message that begins with the kernel's name. The job is the whole problem without
     * memory and scratch. m, n or k may be 0. Runs may use other values of alpha and beta. */
    rung_status (*configure)(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config);
    /* Optional: lowers default parameters to what the caches hold. The result meets the constraints of the kernel's file.
     * Not called for parameters that a caller or a tuning record sets. */
    void (*fit)(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters);
    /* Optional: packs the job's B into `packed`: config->packed.bytes bytes, 64-byte aligned. */
    void (*pack)(const rungi_cpu_job *job, char *packed);
    bool is_threaded; /* false: one thread computes the whole problem */
    bool is_engine;   /* uses matrix instructions, or rejects the problem */
} rungi_cpu_kernel;
