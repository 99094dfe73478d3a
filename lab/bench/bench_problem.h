/* SPDX-License-Identifier: Apache-2.0 */
/* bench_problem.h - one multiply to be timed: its shape, its operands on the host and on the device, and its clock. */
#pragma once

#include "bench/cpu_probe.h"
#include "common/lab_clock.h"
#include "common/type_pair.h"
#include "rung/rung.h"
#include "target/sweep.h"
#include "target/target.h"
#include "verify/verify.h"

/* The seed of the integers that results are verified with. */
enum { LAB_VERIFY_SEED = 1 };

/* An operand in host memory and in a buffer of the device. */
typedef struct lab_operand {
    rung_matrix on_host, on_device;
    int64_t bytes;
} lab_operand;

/* What A and B contain while they are timed. The power that a GPU draws, and thus its clock rate, depends on the numbers.
 * Results are always verified with small integers first. */
/* clang-format off */
#define LAB_INPUTS_LIST(X)                                                      \
    X(WHOLE,  "whole",  "integers from -4 to 4, uniformly distributed")         \
    X(NORMAL, "normal", "normally distributed, standard deviation 1 (integer types: 32, rounded, from -127 to 127)")
/* clang-format on */

typedef enum lab_inputs {
#define X(name, word, meaning) LAB_INPUTS_##name,
    LAB_INPUTS_LIST(X)
#undef X
        LAB_INPUTS_COUNT
} lab_inputs;

/* Returns the inputs with this name, or LAB_INPUTS_COUNT. */
lab_inputs lab_inputs_of(const char *word);
const char *lab_inputs_name(lab_inputs inputs);
const char *lab_inputs_meaning(lab_inputs inputs);

/* ---- Cold copies (cold_copies.c) ----
 *
 * Copies of A, B and C for rung bench --cache cold. There are enough copies that each has left the caches before it is used
 * again and is read from memory. The copies of an operand are consecutive in one buffer. All copies contain the same
 * numbers, so that every result must be the same. Each run uses the next copy. */

/* The copies of one operand. */
typedef struct lab_operand_copies {
    rung_buffer *buffer;
    int64_t bytes, stride_elements, stride_bytes;
} lab_operand_copies;

typedef struct lab_cold_copies {
    int64_t count, next;
    int64_t bytes, target_bytes; /* of all copies of A, B and C; the target is twice the last-level cache */
    lab_operand_copies a, b, c;
} lab_cold_copies;

/* Allocates at least two copies: as many as exceed twice the last-level cache, or as fit a quarter of the memory; `bytes` is
 * then less than `target_bytes`. The matrices give the shapes of one copy. */
rung_status lab_cold_copies_create(rung_device *device, const rung_matrix *a, const rung_matrix *b,
                                   const rung_matrix *c, int64_t batch, lab_cold_copies **copies);
void lab_cold_copies_destroy(lab_cold_copies *copies);

/* Fills all copies of A and B and waits for the end. */
rung_status lab_cold_copies_fill(const lab_cold_copies *copies, rung_queue *queue, const void *a, const void *b);

/* Returns the problem on copy `index`, and on the copy after the last one used. */
rung_problem lab_cold_copies_at(const lab_cold_copies *copies, const rung_problem *problem, int64_t index);
rung_problem lab_cold_copies_next(lab_cold_copies *copies, const rung_problem *problem);

/* ---- Problems ---- */

/* C = A B or a batch of it, with an optional epilogue. The caller fills in the members before `a` and after `d2h_ns`. */
typedef struct lab_bench_problem {
    rung_context *context; /* its rung_gemm uses `device` too */
    rung_device *device;
    rung_queue *queue;
    lab_type_pair product;
    rung_compute compute;
    lab_shape size;
    int64_t batch, splits, carveout, threads; /* threads: of CPU plans; 0: the default */
    lab_epilogue epilogue;
    bool is_a_column_major, is_b_column_major; /* C is row-major */
    lab_operand a, b, c, bias, residual;
    int64_t h2d_ns, d2h_ns; /* median times of copying A and B to the device, and C back */
    rung_event *event;      /* of the copies and runs */
    lab_clock clock;        /* of the samples; only the CPU is timed by other clocks than events */
    lab_cpu_probe probe;    /* runs before and after each sample */
    int64_t probe_threads;
    int64_t idle_ns;              /* sleep before each sample, so that threads of other libraries stop spinning */
    bool is_cold;                 /* each run uses other copies */
    lab_cold_copies *cold_copies; /* NULL unless is_cold */
} lab_bench_problem;

/* Returns a problem of one item without operands. */
lab_bench_problem lab_bench_problem_of(const lab_target *target, const lab_dtype *dtype, lab_shape size);

/* Allocates and fills the operands, copies them to the device and times the copies. After a failure too, the caller calls
 * lab_bench_problem_destroy(). */
rung_status lab_bench_problem_create(lab_bench_problem *problem);
void lab_bench_problem_destroy(lab_bench_problem *problem);

/* Fills A and B anew: on the host, on the device and in all cold copies. */
rung_status lab_bench_problem_fill(const lab_bench_problem *problem, lab_inputs inputs, uint64_t seed);

/* Returns the multiply on the device or on the host. */
rung_problem lab_bench_problem_view(const lab_bench_problem *problem, bool on_device);

/* Fills C in a buffer of the device with NaN, so that an earlier result cannot pass for a new one. */
rung_status lab_bench_problem_clear_c(const lab_bench_problem *problem, rung_buffer *buffer, int64_t offset);

/* Copies C from a buffer of the device to the host. */
rung_status lab_bench_problem_read_c(const lab_bench_problem *problem, rung_buffer *buffer, int64_t offset,
                                     const rung_run_options *options);

/* Returns the number of multiply-adds. */
double lab_bench_problem_products(const lab_bench_problem *problem);

/* Returns GFLOPS; a multiply-add counts as two operations. 0 for no time. */
double lab_gflops(const lab_bench_problem *problem, int64_t nanoseconds);
