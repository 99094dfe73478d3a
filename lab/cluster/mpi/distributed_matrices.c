/* SPDX-License-Identifier: Apache-2.0 */
/* distributed_matrices.c - see distributed_matrices.h. */
#include "cluster/mpi/distributed_matrices.h"

#include <stdlib.h>
#include <string.h>

#include "verify/verify.h"
#include "common/random.h"

enum { ROUNDS = 2, SAMPLES = 16, SEED = 1, STREAM_X = 900 };

static int64_t element_value(rung_cluster_operand operand, int64_t cols, int64_t row, int64_t col)
{
    return (int64_t)(lab_random(SEED, operand, (uint64_t)(row * cols + col)) % 9) - 4;
}

/* ---- Layout ---------------------------------------------------------------------------------- */

/* Return the rows or columns on one process of a block-cyclic layout, and the global index of a local one. */
static int64_t local_lines(int64_t extent, int64_t block, int64_t process, int64_t processes)
{
    int64_t whole = extent / block, lines = whole / processes * block, extra = whole % processes;
    if (process < extra)
        lines += block;
    else if (process == extra)
        lines += extent % block;
    return lines;
}

static int64_t global_line(int64_t line, int64_t block, int64_t process, int64_t processes)
{
    return (line / block * processes + process) * block + line % block;
}

static bool is_in_process_grid(const lab_cluster_problem *problem)
{
    return problem->rank < problem->process_rows * problem->process_cols;
}

static int64_t local_rows(const lab_cluster_problem *problem, const rung_cluster_matrix *matrix)
{
    return local_lines(matrix->rows, problem->block, problem->rank / problem->process_cols, problem->process_rows);
}

static int64_t local_cols(const lab_cluster_problem *problem, const rung_cluster_matrix *matrix)
{
    return local_lines(matrix->cols, problem->block, problem->rank % problem->process_cols, problem->process_cols);
}

rung_status lab_cluster_matrix_create(const lab_cluster_problem *problem, rung_cluster_operand operand, bool is_cyclic,
                                      lab_cluster_matrix *created)
{
    const rung_cluster_problem *cluster = &problem->cluster;
    rung_cluster_matrix *matrix = &created->matrix;
    *created = (lab_cluster_matrix){.operand = operand};
    *matrix = rung_cluster_matrix_of_shares(operand == RUNG_CLUSTER_OPERAND_C ? cluster->c_type : cluster->a_type,
                                            operand == RUNG_CLUSTER_OPERAND_B ? cluster->k : cluster->m,
                                            operand == RUNG_CLUSTER_OPERAND_A ? cluster->k : cluster->n, NULL);
    matrix->layout = is_cyclic ? RUNG_CLUSTER_LAYOUT_CYCLIC : RUNG_CLUSTER_LAYOUT_SHARES;
    created->elements = rung_cluster_share_elements(cluster, &problem->grid, problem->rank, operand);
    if (is_cyclic) {
        int64_t rows = local_rows(problem, matrix);
        created->elements = is_in_process_grid(problem) ? rows * local_cols(problem, matrix) : 0;
        matrix->cyclic = (rung_cluster_cyclic){.row_block = problem->block,
                                               .col_block = problem->block,
                                               .process_rows = problem->process_rows,
                                               .process_cols = problem->process_cols,
                                               .ld = rows > 0 ? rows : 1};
    }
    matrix->data = malloc((size_t)(created->elements + 1) * (size_t)rung_type_size(matrix->type));
    return matrix->data
               ? RUNG_OK
               : rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for %lld elements of a matrix; use more ranks",
                                (long long)created->elements);
}

/* ---- Elements --------------------------------------------------------------------------------------- */

/* Visits element `index` of this rank's view, which is element (row, col) of the whole matrix. */
typedef void (*element_function_t)(void *user, const rung_matrix *local_view, int64_t index, int64_t row, int64_t col);

static void for_each_cyclic_element(const lab_cluster_problem *problem, const rung_cluster_matrix *matrix,
                                    const rung_matrix *local_view, element_function_t visit, void *user)
{
    int64_t i = problem->rank / problem->process_cols, j = problem->rank % problem->process_cols;
    int64_t rows = local_rows(problem, matrix), cols = is_in_process_grid(problem) ? local_cols(problem, matrix) : 0;
    for (int64_t col = 0; col < cols; col++)
        for (int64_t row = 0; row < rows; row++)
            visit(user, local_view, row + col * matrix->cyclic.ld,
                  global_line(row, problem->block, i, problem->process_rows),
                  global_line(col, problem->block, j, problem->process_cols));
}

static void for_each_element(const lab_cluster_problem *problem, const lab_cluster_matrix *matrix,
                             element_function_t visit, void *user)
{
    rung_matrix local_view = rung_matrix_of(matrix->matrix.type, 1, matrix->elements, matrix->matrix.data);
    rung_cluster_piece piece;
    if (matrix->matrix.layout == RUNG_CLUSTER_LAYOUT_CYCLIC) {
        for_each_cyclic_element(problem, &matrix->matrix, &local_view, visit, user);
        return;
    }
    for (int64_t i = 0; rung_cluster_share_piece(&problem->cluster, &problem->grid, problem->rank, matrix->operand, i,
                                                 &piece) == RUNG_OK;
         i++)
        for (int64_t e = 0; e < piece.count; e++)
            visit(user, &local_view, piece.offset + e, piece.row + (piece.first + e) / piece.cols,
                  piece.col + (piece.first + e) % piece.cols);
}

static void set_element(void *user, const rung_matrix *local_view, int64_t index, int64_t row, int64_t col)
{
    const lab_cluster_matrix *matrix = user;
    double value = matrix->operand == RUNG_CLUSTER_OPERAND_C
                       ? -1e9
                       : (double)element_value(matrix->operand, matrix->matrix.cols, row, col);
    lab_element_set(local_view, 0, index, value);
}

void lab_cluster_matrix_fill(const lab_cluster_problem *problem, const lab_cluster_matrix *matrix)
{
    for_each_element(problem, matrix, set_element, (void *)matrix);
}

/* ---- Checking ------------------------------------------------------------------------------------------- */

typedef struct freivalds_trial {
    const lab_cluster_problem *problem;
    int64_t *x, *cx;
    int64_t checked, wrong, step; /* every step-th element is computed in full */
} freivalds_trial_t;

static int64_t expected_element(const lab_cluster_problem *problem, int64_t row, int64_t col)
{
    const rung_cluster_problem *cluster = &problem->cluster;
    int64_t sum = 0;
    for (int64_t i = 0; i < cluster->k; i++)
        sum += element_value(RUNG_CLUSTER_OPERAND_A, cluster->k, row, i) *
               element_value(RUNG_CLUSTER_OPERAND_B, cluster->n, i, col);
    return sum;
}

static void add_element(void *user, const rung_matrix *local_view, int64_t index, int64_t row, int64_t col)
{
    freivalds_trial_t *trial = user;
    double value = lab_element_get(local_view, 0, index);
    if (!(value > -0x1p31 && value < 0x1p31) || value != (double)(int64_t)value) {
        trial->wrong++;
        return;
    }
    trial->cx[row] += (int64_t)value * trial->x[col];
    if (++trial->checked % trial->step == 0)
        trial->wrong += (int64_t)value != expected_element(trial->problem, row, col);
}

/* Computes y = M x: each rank computes some rows, and all ranks get all of y. */
static void multiply_vector(const lab_cluster_problem *problem, rung_cluster_operand operand, int64_t rows,
                            int64_t cols, const int64_t *x, int64_t *y)
{
    memset(y, 0, (size_t)rows * sizeof *y);
    for (int64_t row = problem->rank; row < rows; row += problem->cluster.ranks)
        for (int64_t col = 0; col < cols; col++)
            y[row] += element_value(operand, cols, row, col) * x[col];
    MPI_Allreduce(MPI_IN_PLACE, y, (int)rows, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static int64_t run_trial(const lab_cluster_problem *problem, const lab_cluster_matrix *c, int round, int64_t *memory)
{
    const rung_cluster_problem *cluster = &problem->cluster;
    int64_t *x = memory, *bx = x + cluster->n, *abx = bx + cluster->k, *cx = abx + cluster->m;
    freivalds_trial_t trial = {.problem = problem, .x = x, .cx = cx, .step = c->elements / SAMPLES + 1};
    for (int64_t i = 0; i < cluster->n; i++)
        x[i] = (int64_t)(lab_random((uint64_t)(SEED + round), STREAM_X, (uint64_t)i) % 65537) - 32768;
    multiply_vector(problem, RUNG_CLUSTER_OPERAND_B, cluster->k, cluster->n, x, bx);
    multiply_vector(problem, RUNG_CLUSTER_OPERAND_A, cluster->m, cluster->k, bx, abx);
    memset(cx, 0, (size_t)cluster->m * sizeof *cx);
    for_each_element(problem, c, add_element, &trial);
    MPI_Allreduce(MPI_IN_PLACE, cx, (int)cluster->m, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int64_t i = 0; i < cluster->m; i++)
        trial.wrong += abx[i] != cx[i];
    return trial.wrong;
}

bool lab_cluster_matrix_check(const lab_cluster_problem *problem, const lab_cluster_matrix *c)
{
    const rung_cluster_problem *cluster = &problem->cluster;
    int64_t *memory = malloc((size_t)(cluster->n + cluster->k + 2 * cluster->m + 1) * sizeof *memory);
    int64_t wrong = !memory;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int round = 0; wrong == 0 && round < ROUNDS; round++) {
        wrong = run_trial(problem, c, round, memory);
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
    free(memory);
    return wrong == 0;
}
