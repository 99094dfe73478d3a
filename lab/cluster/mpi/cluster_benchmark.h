/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_benchmark.h - verifies and times several implementations on one problem, interleaved. */
#pragma once

#include "cluster/mpi/distributed_matrices.h"
#include "cluster/mpi/scalapack.h"
#include "io/json_writer.h"
#include "bench/bench.h"

/* What multiplies on each rank. */
typedef enum lab_cluster_method {
    LAB_CLUSTER_METHOD_PDGEMM,
    LAB_CLUSTER_METHOD_BLAS,
    LAB_CLUSTER_METHOD_RUNG
} lab_cluster_method;

/* Plans per rank: blocks have two heights, two widths, and other sizes on the last rank. */
enum { LAB_CLUSTER_MAX_PLANS = 16, LAB_CLUSTER_MAX_IMPLEMENTATIONS = 5 };

typedef struct lab_cluster_implementation {
    lab_cluster_method method;
    bool is_cyclic;
    bool verified;
    char reason[512];
    lab_samples times, ratios; /* ratios: of pdgemm's time to its own in the same round, in millionths */
    int64_t total_ns;
    rung_cluster_report report; /* of the last run: maximum of all ranks */
} lab_cluster_implementation;

/* The plan of the BLAS kernel for a shape; NULL: an empty slot. */
typedef struct lab_cluster_cached_plan {
    int64_t key[4]; /* m, n, k and the input type */
    rung_plan *plan;
} lab_cluster_cached_plan;

/* Objects that are used for all problems. */
typedef struct lab_cluster_environment {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_kernel *blas_kernel; /* NULL: none */
    int64_t threads;          /* per rank */
    bool has_scalapack;
    lab_scalapack scalapack;
    char blas_path[512]; /* library that ScaLAPACK uses */
    char reason[512];    /* why there is no pdgemm */
    int rank, ranks;
    lab_cluster_cached_plan plans[LAB_CLUSTER_MAX_PLANS];
    lab_env_settings settings;
} lab_cluster_environment;

typedef struct lab_cluster_benchmark {
    lab_cluster_environment *environment;
    lab_cluster_problem problem;
    rung_cluster_cost cost;
    lab_cluster_matrix cyclic[3], shares[3];
    lab_cluster_implementation implementations[LAB_CLUSTER_MAX_IMPLEMENTATIONS];
    int count;
    int64_t budget_ns;
} lab_cluster_benchmark;

/* Creates the matrices, finds pdgemm's best block size if `block` is 0, verifies and times. Returns false and sets
 * rung_error_text() on failure. All ranks call this function and get the same result. */
bool lab_cluster_benchmark_run(lab_cluster_benchmark *benchmark, bool wants_cyclic, bool wants_grid, int64_t block);
void lab_cluster_benchmark_free(lab_cluster_benchmark *benchmark);

/* Prints this rank's last error and ends the job: a normal end would wait for a lost rank. */
_Noreturn void lab_cluster_abort(const lab_cluster_environment *environment);

/* cluster_results.c: on rank 0. */
void lab_cluster_benchmark_print(const lab_cluster_benchmark *benchmark, FILE *out);
void lab_cluster_benchmark_write(const lab_cluster_benchmark *benchmark, lab_json *json);
