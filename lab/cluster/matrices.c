/* SPDX-License-Identifier: Apache-2.0 */
/* matrices.c - see matrices.h. */
#include "cluster/matrices.h"

#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "random.h"

enum { ROUNDS = 2, SAMPLES = 16, SEED = 1, STREAM_X = 900 };

static int64_t element(rung_cluster_operand operand, int64_t cols, int64_t row, int64_t col)
{
    return (int64_t)(lab_random(SEED, operand, (uint64_t)(row * cols + col)) % 9) - 4;
}

/* ---- Where they lie ---------------------------------------------------------------------------------- */

/* Rows or columns on one process of a block-cyclic layout, and where one of them is in the whole. */
static int64_t lines_on(int64_t extent, int64_t block, int64_t process, int64_t processes)
{
    int64_t whole = extent / block, lines = whole / processes * block, extra = whole % processes;
    if (process < extra)
        lines += block;
    else if (process == extra)
        lines += extent % block;
    return lines;
}

static int64_t line_at(int64_t line, int64_t block, int64_t process, int64_t processes)
{
    return (line / block * processes + process) * block + line % block;
}

static bool has_process(const cluster_problem_t *problem)
{
    return problem->rank < problem->process_rows * problem->process_cols;
}

static int64_t rows_here(const cluster_problem_t *problem, const rung_cluster_matrix *matrix)
{
    return lines_on(matrix->rows, problem->block, problem->rank / problem->process_cols, problem->process_rows);
}

static int64_t cols_here(const cluster_problem_t *problem, const rung_cluster_matrix *matrix)
{
    return lines_on(matrix->cols, problem->block, problem->rank % problem->process_cols, problem->process_cols);
}

rung_status cluster_matrix_make(const cluster_problem_t *problem, rung_cluster_operand operand, bool is_cyclic,
                                cluster_matrix_t *made)
{
    const rung_cluster_problem *cluster = &problem->cluster;
    rung_cluster_matrix *matrix = &made->matrix;
    *made = (cluster_matrix_t){.operand = operand};
    *matrix = rung_cluster_matrix_of_shares(operand == RUNG_CLUSTER_OPERAND_C ? cluster->c_type : cluster->a_type,
                                            operand == RUNG_CLUSTER_OPERAND_B ? cluster->k : cluster->m,
                                            operand == RUNG_CLUSTER_OPERAND_A ? cluster->k : cluster->n, NULL);
    matrix->layout = is_cyclic ? RUNG_CLUSTER_LAYOUT_CYCLIC : RUNG_CLUSTER_LAYOUT_SHARES;
    made->elements = rung_cluster_share_elements(cluster, &problem->grid, problem->rank, operand);
    if (is_cyclic) {
        int64_t rows = rows_here(problem, matrix);
        made->elements = has_process(problem) ? rows * cols_here(problem, matrix) : 0;
        matrix->cyclic = (rung_cluster_cyclic){.row_block = problem->block,
                                               .col_block = problem->block,
                                               .process_rows = problem->process_rows,
                                               .process_cols = problem->process_cols,
                                               .ld = rows > 0 ? rows : 1};
    }
    matrix->data = malloc((size_t)(made->elements + 1) * (size_t)rung_type_size(matrix->type));
    return matrix->data
               ? RUNG_OK
               : rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for %lld elements of a matrix; use more ranks",
                                (long long)made->elements);
}

void cluster_matrix_describe(const cluster_matrix_t *matrix, int context, int descriptor[9])
{
    const rung_cluster_matrix *it = &matrix->matrix;
    int64_t numbers[9] = {1, context, it->rows,     it->cols, it->cyclic.row_block, it->cyclic.col_block,
                          0, 0,       it->cyclic.ld};
    for (int i = 0; i < 9; i++)
        descriptor[i] = (int)numbers[i];
}

/* ---- One by one --------------------------------------------------------------------------------------- */

/* Element `place` of a view of all that this rank has, which is (row, col) of the whole. */
typedef void (*element_function_t)(void *user, const rung_matrix *here, int64_t place, int64_t row, int64_t col);

static void for_cyclic(const cluster_problem_t *problem, const rung_cluster_matrix *matrix, const rung_matrix *here,
                       element_function_t act, void *user)
{
    int64_t i = problem->rank / problem->process_cols, j = problem->rank % problem->process_cols;
    int64_t rows = rows_here(problem, matrix), cols = has_process(problem) ? cols_here(problem, matrix) : 0;
    for (int64_t col = 0; col < cols; col++)
        for (int64_t row = 0; row < rows; row++)
            act(user, here, row + col * matrix->cyclic.ld, line_at(row, problem->block, i, problem->process_rows),
                line_at(col, problem->block, j, problem->process_cols));
}

static void for_all(const cluster_problem_t *problem, const cluster_matrix_t *matrix, element_function_t act,
                    void *user)
{
    rung_matrix here = rung_matrix_of(matrix->matrix.type, 1, matrix->elements, matrix->matrix.data);
    rung_cluster_piece piece;
    if (matrix->matrix.layout == RUNG_CLUSTER_LAYOUT_CYCLIC) {
        for_cyclic(problem, &matrix->matrix, &here, act, user);
        return;
    }
    for (int64_t i = 0; rung_cluster_share_piece(&problem->cluster, &problem->grid, problem->rank, matrix->operand, i,
                                                 &piece) == RUNG_OK;
         i++)
        for (int64_t e = 0; e < piece.count; e++)
            act(user, &here, piece.offset + e, piece.row + (piece.first + e) / piece.cols,
                piece.col + (piece.first + e) % piece.cols);
}

static void set_element(void *user, const rung_matrix *here, int64_t place, int64_t row, int64_t col)
{
    const cluster_matrix_t *matrix = user;
    double value = matrix->operand == RUNG_CLUSTER_OPERAND_C
                       ? -1e9
                       : (double)element(matrix->operand, matrix->matrix.cols, row, col);
    lab_element_set(here, 0, place, value);
}

void cluster_matrix_fill(const cluster_problem_t *problem, const cluster_matrix_t *matrix)
{
    for_all(problem, matrix, set_element, (void *)matrix);
}

/* ---- Judging ------------------------------------------------------------------------------------------- */

typedef struct trial {
    const cluster_problem_t *problem;
    int64_t *x, *cx;
    int64_t seen, wrong, step; /* every step-th element is computed in full */
} trial_t;

static int64_t sum_at(const cluster_problem_t *problem, int64_t row, int64_t col)
{
    const rung_cluster_problem *cluster = &problem->cluster;
    int64_t sum = 0;
    for (int64_t i = 0; i < cluster->k; i++)
        sum += element(RUNG_CLUSTER_OPERAND_A, cluster->k, row, i) *
               element(RUNG_CLUSTER_OPERAND_B, cluster->n, i, col);
    return sum;
}

static void add_element(void *user, const rung_matrix *here, int64_t place, int64_t row, int64_t col)
{
    trial_t *trial = user;
    double value = lab_element(here, 0, place);
    if (!(value > -0x1p31 && value < 0x1p31) || value != (double)(int64_t)value) {
        trial->wrong++;
        return;
    }
    trial->cx[row] += (int64_t)value * trial->x[col];
    if (++trial->seen % trial->step == 0)
        trial->wrong += (int64_t)value != sum_at(trial->problem, row, col);
}

/* y = M x, each rank some rows, all then all of it. */
static void apply(const cluster_problem_t *problem, rung_cluster_operand operand, int64_t rows, int64_t cols,
                  const int64_t *x, int64_t *y)
{
    memset(y, 0, (size_t)rows * sizeof *y);
    for (int64_t row = problem->rank; row < rows; row += problem->cluster.ranks)
        for (int64_t col = 0; col < cols; col++)
            y[row] += element(operand, cols, row, col) * x[col];
    MPI_Allreduce(MPI_IN_PLACE, y, (int)rows, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static int64_t run_trial(const cluster_problem_t *problem, const cluster_matrix_t *c, int round, int64_t *memory)
{
    const rung_cluster_problem *cluster = &problem->cluster;
    int64_t *x = memory, *bx = x + cluster->n, *abx = bx + cluster->k, *cx = abx + cluster->m;
    trial_t trial = {.problem = problem, .x = x, .cx = cx, .step = c->elements / SAMPLES + 1};
    for (int64_t i = 0; i < cluster->n; i++)
        x[i] = (int64_t)(lab_random((uint64_t)(SEED + round), STREAM_X, (uint64_t)i) % 65537) - 32768;
    apply(problem, RUNG_CLUSTER_OPERAND_B, cluster->k, cluster->n, x, bx);
    apply(problem, RUNG_CLUSTER_OPERAND_A, cluster->m, cluster->k, bx, abx);
    memset(cx, 0, (size_t)cluster->m * sizeof *cx);
    for_all(problem, c, add_element, &trial);
    MPI_Allreduce(MPI_IN_PLACE, cx, (int)cluster->m, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int64_t i = 0; i < cluster->m; i++)
        trial.wrong += abx[i] != cx[i];
    return trial.wrong;
}

bool cluster_matrix_judge(const cluster_problem_t *problem, const cluster_matrix_t *c)
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
