/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_scenarios.c - see cluster_scenarios.h. Elements are small integers, so that results are exact. */
#include "cluster_scenarios.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted_library.h"

enum { M = 24, N = 20, K = 16, BLOCK = 5, C_SPLIT = 11, B_SPLIT = 7, MESSAGE_BYTES = 256 };

static const float c_before = 5, beta = 1, alpha = 2;

/* This rank's part of each matrix; room for the whole. */
static float a_memory[M * K], b_memory[K * N], c_memory[M * N];
static rung_context *context;

void cluster_scenario_open(void)
{
    rung_context_options options = rung_context_options_default();
    options.device = "cpu";
    options.threads = 1;
    options.verbose = -1;
    if (rung_context_create(&options, &context) != RUNG_OK)
        abort();
}

void cluster_scenario_close(void)
{
    rung_context_destroy(context);
    context = NULL;
}

void cluster_scenario_clear_c(void)
{
    for (int i = 0; i < M * N; i++)
        c_memory[i] = c_before;
}

bool cluster_scenario_c_is_clear(void)
{
    for (int i = 0; i < M * N; i++)
        if (c_memory[i] != c_before)
            return false;
    return true;
}

static float a_at(int64_t i, int64_t p)
{
    return (float)((i * 7 + p * 3) % 9 - 4);
}

static float b_at(int64_t p, int64_t j)
{
    return (float)((p * 5 + j * 2) % 7 - 3);
}

static float product_at(int64_t i, int64_t j)
{
    float sum = 0;
    for (int64_t p = 0; p < K; p++)
        sum += a_at(i, p) * b_at(p, j);
    return sum;
}

static rung_cluster_options options_on(const rung_cluster_grid *grid)
{
    rung_cluster_options options = rung_cluster_options_default();
    options.context = context;
    options.grid = grid;
    options.timeout_seconds = 2;
    return options;
}

/* ---- Block-cyclic matrices: A is gathered, and C is copied back ------------------------------------------------------- */

/* Returns the index of row or column `local` of process `process` in the whole matrix. */
static int64_t global_index(int64_t local, int processes, int process)
{
    return (local / BLOCK * processes + process) * BLOCK + local % BLOCK;
}

static rung_cluster_matrix cyclic_of(int rows, int cols, int process_rows, const float *memory)
{
    const int descriptor[9] = {1, 0, rows, cols, BLOCK, BLOCK, 0, 0, rows};
    return rung_cluster_matrix_of_scalapack(RUNG_F32, descriptor, process_rows, CLUSTER_RANKS / process_rows, 0,
                                            memory);
}

static void fill_cyclic(int rank)
{
    for (int64_t j = 0; global_index(j, CLUSTER_RANKS, rank) < K; j++)
        for (int64_t i = 0; i < M; i++)
            a_memory[j * M + i] = a_at(i, global_index(j, CLUSTER_RANKS, rank));
    for (int64_t i = 0; global_index(i, CLUSTER_RANKS, rank) < K; i++)
        for (int64_t j = 0; j < N; j++)
            b_memory[j * K + i] = b_at(global_index(i, CLUSTER_RANKS, rank), j);
}

static rung_status run_cyclic_by(MPI_Comm comm, int rank, rung_cluster_multiply_function multiply)
{
    rung_cluster_matrix a = cyclic_of(M, K, 1, a_memory), b = cyclic_of(K, N, CLUSTER_RANKS, b_memory),
                        c = cyclic_of(M, N, CLUSTER_RANKS, c_memory);
    rung_cluster_grid grid = rung_cluster_grid_of(1, CLUSTER_RANKS, 1);
    rung_cluster_options options = options_on(&grid);
    grid.a_chunks = 2;
    options.multiply = multiply;
    fill_cyclic(rank);
    return rung_cluster_gemm(comm, 1, &a, &b, 0, &c, &options, NULL);
}

static rung_status run_cyclic(MPI_Comm comm, int rank)
{
    return run_cyclic_by(comm, rank, NULL);
}

static bool is_cyclic_right(int rank)
{
    for (int64_t i = 0; global_index(i, CLUSTER_RANKS, rank) < M; i++)
        for (int64_t j = 0; j < N; j++)
            if (c_memory[j * M + i] != product_at(global_index(i, CLUSTER_RANKS, rank), j))
                return false;
    return true;
}

/* ---- Shares and blocks: sums are added, messages are split, products are checked ---------------------------------------- */

static void fill_share_of_a(const rung_cluster_grid *grid, int rank)
{
    rung_cluster_problem problem = rung_cluster_problem_of(CLUSTER_RANKS, M, N, K, RUNG_F32, RUNG_F32, RUNG_F32);
    rung_cluster_piece piece;
    for (int64_t i = 0; rung_cluster_share_piece(&problem, grid, rank, RUNG_CLUSTER_OPERAND_A, i, &piece) == RUNG_OK;
         i++)
        for (int64_t e = 0; e < piece.count; e++)
            a_memory[piece.offset + e] = a_at(piece.row + (piece.first + e) / piece.cols,
                                              piece.col + (piece.first + e) % piece.cols);
}

/* The transpose of B, in two blocks of rows: rank 1 has the first one. */
static void fill_block_of_b(int rank)
{
    int first = rank == 1 ? 0 : B_SPLIT, end = rank == 1 ? B_SPLIT : N;
    for (int j = first; j < end; j++)
        for (int p = 0; p < K; p++)
            b_memory[(j - first) * K + p] = b_at(p, j);
}

static rung_status run_blocks(MPI_Comm comm, int rank)
{
    static const int64_t b_splits[] = {0, B_SPLIT, N}, c_splits[] = {0, C_SPLIT, M}, k_splits[] = {0, K},
                         n_splits[] = {0, N};
    static const int b_owners[] = {1, 0}, c_owners[] = {0, 1};
    rung_matrix b_view = rung_matrix_of(RUNG_F32, rank == 1 ? B_SPLIT : N - B_SPLIT, K, b_memory);
    rung_matrix c_view = rung_matrix_of(RUNG_F32, rank == 0 ? C_SPLIT : M - C_SPLIT, N, c_memory);
    rung_cluster_blocks b_blocks = {2, 1, b_splits, k_splits, b_owners, &b_view, 1};
    rung_cluster_blocks c_blocks = {2, 1, c_splits, n_splits, c_owners, &c_view, 1};
    rung_cluster_grid grid = rung_cluster_grid_of(1, 1, CLUSTER_RANKS);
    grid.a_chunks = grid.b_chunks = 2;
    rung_cluster_matrix a = rung_cluster_matrix_of_shares(RUNG_F32, M, K, a_memory);
    rung_cluster_matrix b = rung_cluster_matrix_of_blocks(RUNG_F32, N, K, &b_blocks);
    rung_cluster_matrix c = rung_cluster_matrix_of_blocks(RUNG_F32, M, N, &c_blocks);
    rung_cluster_options options = options_on(&grid);
    rung_cluster_report *report; /* also of a call that fails */
    b.transposed = 1;
    options.max_message_bytes = MESSAGE_BYTES;
    options.checked = 1;
    fill_share_of_a(&grid, rank);
    fill_block_of_b(rank);
    rung_status status = rung_cluster_gemm(comm, alpha, &a, &b, beta, &c, &options, &report);
    rung_cluster_report_destroy(report);
    return status;
}

static bool is_blocks_right(int rank)
{
    int first = rank == 0 ? 0 : C_SPLIT, end = rank == 0 ? C_SPLIT : M;
    for (int i = first; i < end; i++)
        for (int j = 0; j < N; j++)
            if (c_memory[(i - first) * N + j] != alpha * product_at(i, j) + beta * c_before)
                return false;
    return true;
}

/* ---- Local multiplications with a planted bug ------------------------------------------------------------------------- */

static rung_status fail(const char *text)
{
    return text ? rung_error_set(RUNG_STATUS_NO_MEMORY, "%s", text) : RUNG_OK;
}

static rung_status multiply_unless(rung_status status, rung_matrix a, rung_matrix b, rung_matrix c)
{
    return status == RUNG_OK ? rung_gemm(context, 1, a, b, 0, c) : status;
}

static rung_status multiply_missing_check(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    planted_missing_check();
    return multiply_unless(RUNG_OK, a, b, c);
}

static rung_status multiply_leak(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    return multiply_unless(fail(planted_leak()), a, b, c);
}

static rung_status multiply_wrong_result(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    return planted_wrong_result() ? multiply_unless(RUNG_OK, a, b, c) : RUNG_OK;
}

static rung_status multiply_stays_broken(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    return multiply_unless(fail(planted_stays_broken()), a, b, c);
}

static rung_status multiply_endless(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    (void)user;
    return multiply_unless(fail(planted_endless()), a, b, c);
}

/* This rank returns before the others know. */
static rung_status run_silent(MPI_Comm comm, int rank)
{
    rung_status status = rank == 0 ? fail(planted_no_sentence() ? NULL : "out of memory before the call") : RUNG_OK;
    return status == RUNG_OK ? run_cyclic(comm, rank) : status;
}

static rung_status run_missing_check(MPI_Comm comm, int rank)
{
    return run_cyclic_by(comm, rank, multiply_missing_check);
}

static rung_status run_leak(MPI_Comm comm, int rank)
{
    return run_cyclic_by(comm, rank, multiply_leak);
}

static rung_status run_wrong_result(MPI_Comm comm, int rank)
{
    return run_cyclic_by(comm, rank, multiply_wrong_result);
}

static rung_status run_stays_broken(MPI_Comm comm, int rank)
{
    return run_cyclic_by(comm, rank, multiply_stays_broken);
}

static rung_status run_endless(MPI_Comm comm, int rank)
{
    return run_cyclic_by(comm, rank, multiply_endless);
}

const cluster_scenario cluster_scenarios[] = {
    {"cluster_cyclic_rank_0", 0, run_cyclic, is_cyclic_right, false},
    {"cluster_cyclic_rank_1", 1, run_cyclic, is_cyclic_right, false},
    {"cluster_blocks_rank_0", 0, run_blocks, is_blocks_right, false},
    {"cluster_blocks_rank_1", 1, run_blocks, is_blocks_right, false},
    {"aborted_missing_check", 1, run_missing_check, is_cyclic_right, true},
    {"leaked_memory", 0, run_leak, is_cyclic_right, true},
    {"wrong_result", 1, run_wrong_result, is_cyclic_right, true},
    {"wrong_stays_broken", 0, run_stays_broken, is_cyclic_right, true},
    {"wrong_silent", 0, run_silent, is_cyclic_right, true},
    {"hung_endless", 1, run_endless, is_cyclic_right, true},
    {0},
};
