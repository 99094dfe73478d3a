/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the CPU device: its backend table, and what its kernels are given. */
#ifndef RUNGI_CPU_H
#define RUNGI_CPU_H

#include "core/backend.h"
#include "core/device.h"
#include "cpu/features.h"
#include "cpu/packed_header.h"
#include "cpu/pool.h"

extern const rungi_backend rungi_cpu_backend;

typedef struct rungi_cpu_device {
    rung_device base;
    rungi_cpu_features features; /* what it may use, not only what is there */
    rungi_pool *pool;            /* the context's */
} rungi_cpu_device;

/* An operand: element (i, j) is at first[i * row_stride + j * col_stride]. */
typedef struct rungi_cpu_input {
    const void *first;
    int64_t row_stride, col_stride;
} rungi_cpu_input;

typedef struct rungi_cpu_output {
    void *first;
    int64_t row_stride, col_stride;
} rungi_cpu_output;

/* What a plan settles once for all its runs, from the whole problem and never from a part
 * of it: however C is cut between threads, each element is summed in the same way. */
typedef struct rungi_cpu_form {
    int64_t whole_n;            /* columns of the problem, of which a job may be a part */
    int path;                   /* the kernel's own: which of its ways through */
    int64_t grain_m, grain_n;   /* C is cut between threads at multiples of these */
    int64_t kc, nc;             /* blocks along k and n, where the kernel has such */
    int64_t kept;               /* of what a kernel keeps packed, in its own unit, the most: as a part of C is kept no
                                 * more than scratch was asked for */
    int64_t scratch;            /* bytes that a thread needs */
    bool is_slow;               /* another kernel is faster here: it is selected only by name */
    bool is_turned;             /* C^T = B^T A^T is computed, since C stands by columns */
    bool takes_packed;          /* B comes packed, ... */
    rungi_packed_layout packed; /* ... in this layout, which k, n, types and parameters decide, and never m */
} rungi_cpu_form;

/* C = alpha * A * B + beta * C with m, n > 0, and what follows it: one item of a batch, or
 * a thread's block of it. A kernel reads neither A nor B where k is 0, and does not read C
 * where beta is 0. */
typedef struct rungi_cpu_job {
    rung_type in, out;
    int64_t m, n, k;
    double alpha, beta;
    rungi_cpu_input a, b;
    rungi_cpu_output c;
    rungi_cpu_input bias, residual; /* first is NULL if there is none */
    rungi_cpu_input addend;         /* the C that is read if the result is another matrix: likewise; then beta is 0 */
    double addend_factor;           /* and this is the problem's beta */
    rung_activation activation;
    const rungi_cpu_form *form;
    const rungi_cpu_features *features;
    const int64_t *parameters; /* as the kernel's file lists them */
    char *scratch;             /* form->scratch bytes, at a multiple of 4096 */
    const char *packed;        /* all of B in the form's layout, 64-byte aligned, or NULL */
    int64_t first_col;         /* of the block in the whole problem */
} rungi_cpu_job;

/* A step of the ladder. Threads, batches and turning are plan.c's. */
typedef struct rungi_cpu_kernel {
    void (*run)(const rungi_cpu_job *job);
    /* Optional: settles the form, which comes with no scratch and grains of one, or refuses
     * the problem: RUNG_STATUS_UNSUPPORTED and a sentence that begins with the kernel's name. The job
     * is the whole problem's, m, n or k perhaps 0, without memory and scratch; alpha and beta
     * may be others at a run. */
    rung_status (*settle)(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form);
    /* Optional: lowers default parameters to what the caches hold; the result meets the constraints of the
     * kernel's file. Parameters that a caller or a tuning record names are left as they are. */
    void (*fit)(const rungi_blocks *blocks, int64_t sum_bytes, int64_t *parameters);
    /* Optional: packs all of the job's B into form->packed.bytes bytes, 64-byte aligned. */
    void (*pack)(const rungi_cpu_job *job, char *packed);
    bool is_threaded; /* else one thread runs the whole */
    bool is_engine;   /* multiplies by a matrix engine's instructions, or refuses */
} rungi_cpu_kernel;

/* How C is cut between threads: into rows x cols blocks, each of m_step x n_step but for the last
 * ones, which are smaller or as large and never empty. */
typedef struct rungi_cpu_grid {
    int64_t rows, cols;
    int64_t m_step, n_step;
} rungi_cpu_grid;

/* No more than `parts` blocks, at multiples of the form's grains; m, n and parts are 1 or more. */
rungi_cpu_grid rungi_cpu_cut(int64_t m, int64_t n, const rungi_cpu_form *form, int64_t parts);

/* plan.c: what the device's table has of plans. */
rung_status rungi_cpu_plan_create(rung_plan *plan);
rung_status rungi_cpu_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                               const rung_run_options *options);
rung_status rungi_cpu_plan_pack(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                                const rung_run_options *options);
rung_status rungi_cpu_packed_check(const rung_plan *plan, const void *header);
void rungi_cpu_plan_destroy(rung_plan *plan);

/* device.c: the time now, and the event that a run signals. */
int64_t rungi_cpu_now(void);
void rungi_cpu_signal(const rung_run_options *options, int64_t started);

/* A buffer's first byte. */
char *rungi_cpu_buffer(const rung_buffer *buffer);

/* Asks the system for large pages behind a buffer that the library allocated. Call before the buffer is filled. */
void rungi_cpu_buffer_use_large_pages(const rung_buffer *buffer);

/* Where element (0, 0) of an item stands, whether the view has data or a buffer. */
void *rungi_cpu_item(const rung_matrix *matrix, int64_t item);

#endif /* RUNGI_CPU_H */
