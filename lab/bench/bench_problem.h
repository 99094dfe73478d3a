/* SPDX-License-Identifier: Apache-2.0 */
/* bench_problem.h - one multiply to be timed: its shape, its operands on the host and on the device, and its clock. */
#ifndef LAB_BENCH_PROBLEM_H
#define LAB_BENCH_PROBLEM_H

#include "bench/cold_copies.h"
#include "bench/cpu_probe.h"
#include "common/lab_clock.h"
#include "common/type_pair.h"
#include "rung/rung.h"
#include "verify/cases.h"

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

/* C = A B or a batch of it, with an optional epilogue. The caller fills in the members before `a` and after `d2h_ns`. */
typedef struct lab_bench_problem {
    rung_context *context; /* its rung_gemm uses `device` too */
    rung_device *device;
    rung_queue *queue;
    lab_type_pair product;
    rung_compute compute;
    int64_t m, n, k, batch, splits, carveout, threads; /* threads: of CPU plans; 0: the default */
    lab_epilogue epilogue;
    bool is_a_column_major, is_b_column_major; /* C is row-major */
    lab_operand a, b, c, bias, residual;
    int64_t h2d_ns, d2h_ns; /* median times of copying A and B to the device, and C back */
    lab_clock clock;        /* of the samples; only the CPU is timed by other clocks than events */
    lab_cpu_probe probe;    /* runs before and after each sample */
    int64_t probe_threads;
    int64_t idle_ns;              /* sleep before each sample, so that threads of other libraries stop spinning */
    bool is_cold;                 /* each run uses other copies */
    lab_cold_copies *cold_copies; /* NULL unless is_cold */
} lab_bench_problem;

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

#endif /* LAB_BENCH_PROBLEM_H */
