/* SPDX-License-Identifier: Apache-2.0 */
/* checked.c - rung_cluster_options.checked on ranks whose device makes an error in every product.
 *
 *     mpirun -n 2 checked */
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "core/context.h"
#include "rung/cluster.h"
#include "support/spoiled_device.h"

enum { SIZE = 70, LARGEST = 4 };

static int rank, ranks;
static rung_context *context;
static double a_memory[SIZE * SIZE], b_memory[SIZE * SIZE], c_memory[SIZE * SIZE];

static void check(int is_good, const char *what)
{
    if (is_good)
        return;
    printf("rank %d: %s; the last sentence was: %s\n", rank, what, rung_error_text());
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All ranks have the same A and B, and each knows the whole product. Sums are whole and exact. */
static void fill_inputs(void)
{
    for (int i = 0; i < SIZE * SIZE; i++) {
        a_memory[i] = i * 7 % (2 * LARGEST + 1) - LARGEST;
        b_memory[i] = i * 5 % (2 * LARGEST + 1) - LARGEST;
    }
}

static void check_result(const char *what)
{
    for (int j = rank; j < SIZE; j += ranks)
        for (int i = 0; i < SIZE; i++) {
            double sum = 0;
            for (int p = 0; p < SIZE; p++)
                sum += a_memory[p * SIZE + i] * b_memory[j * SIZE + p];
            check(c_memory[j / ranks * SIZE + i] == sum, what);
        }
}

/* Columns are dealt to the ranks one by one. `inputs` of a rank are its columns. */
static rung_cluster_matrix columns_of(double *memory)
{
    int descriptor[9] = {1, 0, SIZE, SIZE, SIZE, 1, 0, 0, SIZE};
    return rung_cluster_matrix_of_scalapack(RUNG_F64, descriptor, 1, ranks, 0, memory);
}

static rung_status multiply(rung_cluster_options *options, int64_t *corrected)
{
    static double a_own[SIZE * SIZE], b_own[SIZE * SIZE];
    rung_cluster_matrix a = columns_of(a_own), b = columns_of(b_own), c = columns_of(c_memory);
    rung_cluster_report *report = NULL;
    for (int j = rank; j < SIZE; j += ranks) {
        memcpy(&a_own[j / ranks * SIZE], &a_memory[j * SIZE], SIZE * sizeof(double));
        memcpy(&b_own[j / ranks * SIZE], &b_memory[j * SIZE], SIZE * sizeof(double));
    }
    rung_status status = rung_cluster_gemm(MPI_COMM_WORLD, 1.0, &a, &b, 0.0, &c, options, &report);
    check(report != NULL, "there is no report");
    *corrected = report->corrected;
    rung_cluster_report_destroy(report);
    return status;
}

static rung_cluster_options options_of(int64_t checked)
{
    rung_cluster_options options = rung_cluster_options_default();
    options.context = context;
    options.checked = checked;
    options.timeout_seconds = 20;
    return options;
}

static rung_status change_a_and_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                    rungi_gemm_sizes sizes, const rung_run_options *options)
{
    ((double *)problem->a.data)[problem->a.offset] += 100;
    return spoiled_run(plan, queue, problem, sizes, options);
}

static rung_status multiply_here(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    return rung_gemm(NULL, 1.0, a, b, 0.0, c);
}

static void run_checks(void)
{
    int64_t corrected;
    rung_cluster_options options = options_of(1);
    check(multiply(&options, &corrected) == RUNG_OK && corrected > 0 && corrected == spoiled_runs,
          "errors were not corrected");
    check_result("a corrected result is wrong");
    options = options_of(0);
    check(multiply(&options, &corrected) == RUNG_OK && corrected == 0, "a call without checks corrected elements");

    if (rank == ranks - 1)
        spoiled_ops.plan_run = change_a_and_run;
    char name[32];
    snprintf(name, sizeof name, "rank %d: ", ranks - 1);
    options = options_of(1);
    check(multiply(&options, &corrected) == RUNG_STATUS_CORRUPTED, "an input changed, and the call did not fail");
    check(strncmp(rung_error_text(), name, strlen(name)) == 0, "the sentence names another rank");
    spoiled_ops.plan_run = spoiled_run;

    options = options_of(rank == 0);
    check(multiply(&options, &corrected) == (ranks > 1 ? RUNG_STATUS_INVALID : RUNG_OK),
          "ranks with other options were accepted");
    options = options_of(2);
    check(multiply(&options, &corrected) == RUNG_STATUS_INVALID, "checked = 2 was accepted");
    options = options_of(1);
    options.multiply = multiply_here;
    check(multiply(&options, &corrected) == RUNG_STATUS_UNSUPPORTED, "the caller's multiplication was accepted");
}

int main(int argc, char **argv)
{
    double one = 1, result;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fill_inputs();
    check(rung_context_create(NULL, &context) == RUNG_OK, "there is no context");
    /* The first call opens the context's device. */
    check(rung_gemm(context, 1, rung_matrix_of(RUNG_F64, 1, 1, &one), rung_matrix_of(RUNG_F64, 1, 1, &one), 0,
                    rung_matrix_of(RUNG_F64, 1, 1, &result)) == RUNG_OK,
          "there is no device");
    spoil_device(context->device);
    run_checks();
    repair_device(context->device);
    rung_context_destroy(context);
    MPI_Finalize();
    return 0;
}
