/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_benchmark.c - see cluster_benchmark.h. */
#include "cluster/mpi/cluster_benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/lab_clock.h"

enum { MIN_ROUNDS = 7, MAX_ROUNDS = 200 };

static const double ratio_scale = 1e6;

/* ---- Local multiplication -------------------------------------------------------------------------- */

/* Finds or creates the BLAS kernel's plan for a shape. */
static rung_status find_plan(lab_cluster_environment *environment, const rung_problem *problem, rung_plan **plan)
{
    lab_cluster_cached_plan wanted = {.key = {problem->c.rows, problem->c.cols, problem->a.cols, problem->a.type}};
    int slot = 0; /* replaced if no slot is empty */
    for (int i = 0; i < LAB_CLUSTER_MAX_PLANS; i++) {
        const lab_cluster_cached_plan *cached = &environment->plans[i];
        if (!cached->plan) {
            slot = i;
        } else if (memcmp(cached->key, wanted.key, sizeof wanted.key) == 0) {
            *plan = cached->plan;
            return RUNG_OK;
        }
    }
    rung_plan_destroy(environment->plans[slot].plan);
    rung_plan_options options = rung_plan_options_default();
    options.kernel = environment->blas_kernel;
    options.threads = environment->threads;
    rung_status status = rung_plan_create(environment->device, problem, &options, &wanted.plan);
    environment->plans[slot] = wanted;
    *plan = wanted.plan;
    return status;
}

static rung_status multiply_with_blas(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    lab_cluster_environment *environment = user;
    rung_problem problem = rung_problem_of(a, b, c);
    rung_plan *plan = NULL;
    rung_status status = find_plan(environment, &problem, &plan);
    return status == RUNG_OK ? rung_plan_run(plan, environment->queue, &problem, NULL) : status;
}

/* ---- One run ------------------------------------------------------------------------------------------- */

static rung_status run_multiply(lab_cluster_benchmark *benchmark, lab_cluster_implementation *implementation)
{
    lab_cluster_environment *environment = benchmark->environment;
    const lab_cluster_matrix *of = implementation->is_cyclic ? benchmark->cyclic : benchmark->shares;
    if (implementation->method == LAB_CLUSTER_METHOD_PDGEMM) {
        lab_scalapack_multiply(&environment->scalapack, &of[0], &of[1], &of[2]);
        return RUNG_OK;
    }
    rung_cluster_options options = rung_cluster_options_default();
    rung_cluster_report *report;
    options.context = environment->context;
    options.grid = &benchmark->problem.grid;
    if (implementation->method == LAB_CLUSTER_METHOD_BLAS) {
        options.multiply = multiply_with_blas;
        options.multiply_user = environment;
    }
    rung_status status = rung_cluster_gemm(MPI_COMM_WORLD, 1.0, &of[0].matrix, &of[1].matrix, 0.0, &of[2].matrix,
                                           &options, &report);
    if (report)
        implementation->report = *report;
    implementation->report.grid = NULL; /* freed with the library's report */
    rung_cluster_report_destroy(report);
    return status;
}

/* Measures the time from one barrier to the next on rank 0. */
static rung_status time_run(lab_cluster_benchmark *benchmark, lab_cluster_implementation *implementation,
                            int64_t *nanoseconds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t start = lab_now_ns();
    rung_status status = run_multiply(benchmark, implementation);
    if (status != RUNG_OK)
        return status;
    MPI_Barrier(MPI_COMM_WORLD);
    *nanoseconds = lab_now_ns() - start;
    MPI_Bcast(nanoseconds, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return RUNG_OK;
}

/* Replaces the report by the maximum of all ranks. */
static void reduce_report(lab_cluster_implementation *implementation)
{
    rung_cluster_report *report = &implementation->report;
    int64_t *counts[] = {&report->received_bytes, &report->messages, &report->redistributed_bytes};
    double *seconds[] = {&report->seconds, &report->redistribute_seconds, &report->multiply_seconds,
                         &report->wait_seconds};
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(MPI_IN_PLACE, counts[i], 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(MPI_IN_PLACE, seconds[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

/* ---- Preparation -------------------------------------------------------------------------------------- */

static void free_matrices(lab_cluster_matrix *matrices)
{
    for (int i = 0; i < 3; i++) {
        free(matrices[i].matrix.data);
        matrices[i].matrix.data = NULL;
    }
}

/* Creates the matrices on all ranks or on none. */
static bool make_matrices(const lab_cluster_problem *problem, bool is_cyclic, lab_cluster_matrix *matrices)
{
    int good = 1;
    for (int i = 0; i < 3 && good; i++)
        good = lab_cluster_matrix_create(problem, (rung_cluster_operand)i, is_cyclic, &matrices[i]) == RUNG_OK;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!good) {
        free_matrices(matrices);
        rung_error_set(RUNG_STATUS_NO_MEMORY,
                       "the matrices do not fit the memory of a rank; use more ranks, or smaller --sizes");
        return false;
    }
    for (int i = 0; i < 3; i++)
        lab_cluster_matrix_fill(problem, &matrices[i]);
    return true;
}

/* Finds the block size with which pdgemm is fastest, for a fair comparison. */
static bool find_best_block(lab_cluster_benchmark *benchmark)
{
    static const int64_t blocks[] = {64, 128, 256, 512};
    int64_t best = 0, best_ns = 0;
    lab_cluster_implementation pdgemm = {.method = LAB_CLUSTER_METHOD_PDGEMM, .is_cyclic = true};
    for (int i = 0; i < 4; i++) {
        benchmark->problem.block = blocks[i];
        if (!make_matrices(&benchmark->problem, true, benchmark->cyclic))
            return false;
        for (int again = 0; again < 2; again++) {
            int64_t elapsed_ns = 0;
            time_run(benchmark, &pdgemm, &elapsed_ns);
            if (best == 0 || elapsed_ns < best_ns) {
                best = blocks[i];
                best_ns = elapsed_ns;
            }
        }
        free_matrices(benchmark->cyclic);
    }
    benchmark->problem.block = best;
    return true;
}

static void add_implementation(lab_cluster_benchmark *benchmark, lab_cluster_method method, bool is_cyclic)
{
    benchmark->implementations[benchmark->count++] = (lab_cluster_implementation){.method = method,
                                                                                  .is_cyclic = is_cyclic};
}

static bool is_f32_or_f64(lab_type_pair product)
{
    return lab_type_pair_is(product, RUNG_F32, RUNG_F32) || lab_type_pair_is(product, RUNG_F64, RUNG_F64);
}

static bool can_pdgemm(const lab_cluster_benchmark *benchmark)
{
    return benchmark->environment->has_scalapack && is_f32_or_f64(benchmark->problem.product);
}

static void add_implementations(lab_cluster_benchmark *benchmark, bool wants_cyclic, bool wants_grid)
{
    bool has_blas = benchmark->environment->blas_kernel && is_f32_or_f64(benchmark->problem.product);
    benchmark->count = 0;
    if (can_pdgemm(benchmark))
        add_implementation(benchmark, LAB_CLUSTER_METHOD_PDGEMM, true);
    for (int is_cyclic = 1; is_cyclic >= 0; is_cyclic--) {
        if (!(is_cyclic ? wants_cyclic : wants_grid))
            continue;
        if (has_blas)
            add_implementation(benchmark, LAB_CLUSTER_METHOD_BLAS, is_cyclic != 0);
        add_implementation(benchmark, LAB_CLUSTER_METHOD_RUNG, is_cyclic != 0);
    }
}

void lab_cluster_abort(const lab_cluster_environment *environment)
{
    fprintf(stderr, "rung: rank %d: %s\n", environment->rank, rung_error_text());
    sleep(1); /* leave time for the process that reports a rank's death */
    MPI_Abort(MPI_COMM_WORLD, LAB_EXIT_WRONG);
    abort(); /* MPI_Abort does not return, but is not declared noreturn */
}

static void verify(lab_cluster_benchmark *benchmark, lab_cluster_implementation *implementation)
{
    const lab_cluster_matrix *c = &(implementation->is_cyclic ? benchmark->cyclic : benchmark->shares)[2];
    lab_cluster_matrix_fill(&benchmark->problem, c);
    rung_status status = run_multiply(benchmark, implementation);
    int good = status == RUNG_OK;
    if (status == RUNG_STATUS_DEVICE_LOST) /* a collective call would wait for the lost rank */
        lab_cluster_abort(benchmark->environment);
    if (!good)
        snprintf(implementation->reason, sizeof implementation->reason, "%s", rung_error_text());
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    implementation->verified = good && lab_cluster_matrix_check(&benchmark->problem, c);
    if (good && !implementation->verified)
        snprintf(implementation->reason, sizeof implementation->reason, "the result is wrong");
    if (implementation->verified && implementation->method != LAB_CLUSTER_METHOD_PDGEMM)
        reduce_report(implementation);
}

/* ---- Timing ---------------------------------------------------------------------------------------- */

static bool run_round(lab_cluster_benchmark *benchmark, int64_t round)
{
    int64_t pdgemm_ns = 0;
    for (int i = 0; i < benchmark->count; i++) {
        lab_cluster_implementation *implementation = &benchmark->implementations[i];
        int64_t elapsed_ns = 0;
        if (!implementation->verified)
            continue;
        if (time_run(benchmark, implementation, &elapsed_ns) != RUNG_OK)
            return false;
        if (implementation->method == LAB_CLUSTER_METHOD_PDGEMM)
            pdgemm_ns = elapsed_ns;
        else
            reduce_report(implementation);
        implementation->total_ns += elapsed_ns;
        implementation->times.round = implementation->ratios.round = round;
        lab_samples_add(&implementation->times, elapsed_ns, 0, 0);
        if (pdgemm_ns > 0 && elapsed_ns > 0)
            lab_samples_add(&implementation->ratios, (int64_t)((double)pdgemm_ns / (double)elapsed_ns * ratio_scale), 0,
                            0);
    }
    return true;
}

static bool needs_more_rounds(const lab_cluster_benchmark *benchmark, int64_t rounds)
{
    if (rounds < MIN_ROUNDS)
        return true;
    for (int i = 0; rounds < MAX_ROUNDS && i < benchmark->count; i++)
        if (benchmark->implementations[i].verified && benchmark->implementations[i].total_ns < benchmark->budget_ns)
            return true;
    return false;
}

bool lab_cluster_benchmark_run(lab_cluster_benchmark *benchmark, bool wants_cyclic, bool wants_grid, int64_t block)
{
    lab_cluster_problem *problem = &benchmark->problem;
    problem->block = block > 0 ? block : 64;
    problem->grid = rung_cluster_grid_of(1, 1, 1);
    benchmark->cost = rung_cluster_cost_default();
    if (rung_cluster_grid_choose(&problem->cluster, &problem->grid) != RUNG_OK ||
        rung_cluster_grid_cost(&problem->cluster, &problem->grid, &benchmark->cost) != RUNG_OK)
        return false;
    add_implementations(benchmark, wants_cyclic, wants_grid);
    if (can_pdgemm(benchmark) && block == 0 && !find_best_block(benchmark))
        return false;
    if (!make_matrices(problem, true, benchmark->cyclic) || !make_matrices(problem, false, benchmark->shares))
        return false;
    for (int i = 0; i < benchmark->count; i++)
        verify(benchmark, &benchmark->implementations[i]);
    bool good = true;
    for (int64_t round = 0; good && needs_more_rounds(benchmark, round); round++)
        good = run_round(benchmark, round);
    return good;
}

void lab_cluster_benchmark_free(lab_cluster_benchmark *benchmark)
{
    free_matrices(benchmark->cyclic);
    free_matrices(benchmark->shares);
}
