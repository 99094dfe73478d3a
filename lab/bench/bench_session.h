/* SPDX-License-Identifier: Apache-2.0 */
/* bench_session.h - the state of one rung bench in one process, shared by the bench_*.c files of this directory. */
#pragma once

#include "bench/contender.h"
#include "bench/interleave.h"
#include "explain/explain.h"
#include "target/target.h"

enum { LAB_BENCH_PROBLEMS_MAX = 256, LAB_CONTENDERS_MAX = 128 };

typedef struct lab_bench_session {
    const lab_options *options;
    lab_target target;
    const char *kernel_list; /* NULL: all kernels of the device */
    lab_dtype dtypes[LAB_DTYPES_MAX];
    int dtype_count;
    int64_t splits, carveout, threads;
    lab_gpu machine; /* the GPU of --arch or --machine */
    int64_t budget_ns;
    lab_shape problems[LAB_BENCH_PROBLEMS_MAX]; /* at least LAB_SWEEP_MAX */
    int problem_count;
    const rung_kernel *kernels[LAB_KERNELS_MAX]; /* NULL among them: rung_gemm */
    int kernel_count;
    lab_contender *contenders; /* of the current problem */
    int contender_count;
    double ns_per_product[LAB_CONTENDERS_MAX]; /* see lab_bench_record_speed() */
    int64_t rounds;                            /* rounds of samples of the current problem */
    double best_probe[LAB_CPU_PROBE_COUNT];    /* the highest GFLOPS so far */
    lab_interleave interleave;                 /* with another executable */
    lab_bench_result result;
    bool any_wrong, any_verified;
    lab_call_profiler profiler; /* of rung_gemm */
    lab_json trace;             /* its stream is NULL without --trace */
    int64_t traced_problems;
    int problems_done; /* of all problems of all types */
    bool save_failed;  /* --output could not be written */
} lab_bench_session;

/* Returns the type of the current problem (bench_session.c). */
const lab_dtype *lab_bench_current_dtype(const lab_bench_session *session);

/* ---- bench_options.c ---- */

/* Reads everything that needs no device. Returns an exit code. */
int lab_bench_read_options(lab_bench_session *session);

/* Reads --budget and its default, in seconds. Returns NULL, or an error. */
const char *lab_bench_parse_budget(const lab_options *options, double *seconds);

/* Prints a formatted message about an invalid option. Returns LAB_EXIT_USAGE. */
int lab_bench_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- bench_kernels.c ---- */

/* Finds the kernels to be timed on the open device, and prepares other libraries. Returns an exit code. */
int lab_bench_find_kernels(lab_bench_session *session);

/* Lists the contenders for one type: every kernel with every combination of --params. Returns an exit code. */
int lab_bench_collect_contenders(lab_bench_session *session, const lab_dtype *dtype);

/* Returns the name of a contender in messages and results. */
const char *lab_contender_name(const lab_contender *contender);

/* Records a time of a contender for lab_bench_predict_ns(). */
void lab_bench_record_speed(lab_bench_session *session, const lab_contender *contender,
                            const lab_bench_problem *problem, int64_t nanoseconds);

/* Returns the expected time of one run; 0 if the contender has not been timed yet. */
double lab_bench_predict_ns(lab_bench_session *session, const lab_contender *contender,
                            const lab_bench_problem *problem);

/* ---- bench_sampling.c ---- */

/* Verifies and times all contenders on a problem whose operands exist. */
void lab_bench_measure(lab_bench_session *session, const lab_bench_problem *problem);

/* Takes the samples. With no verified contender, only answers the other executable. */
void lab_bench_sample_all(lab_bench_session *session, const lab_bench_problem *problem);

/* Returns the best result of the problem's probe if its speed has modes, else 0. */
double lab_bench_best_probe(const lab_bench_session *session, const lab_bench_problem *problem);

/* ---- bench_rows.c ---- */

/* Allocates the rows of the current contenders. Returns false if memory runs out. */
bool lab_bench_reserve_rows(lab_bench_session *session);

/* Appends one row per contender to the result and compares them with each other. */
void lab_bench_add_rows(lab_bench_session *session, const lab_bench_problem *problem);

/* Adds the predictions of rung explain to the rows of the current problem, which begin at `first`, for --arch and --machine. */
void lab_bench_explain_rows(lab_bench_session *session, int first);

void lab_bench_free_rows(lab_bench_session *session);
