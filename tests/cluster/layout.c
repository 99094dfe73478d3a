/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - where elements of block-cyclic matrices lie, against dealing them out line by line: every rank of every
 * rectangle of processes, small sizes, all sources, parts of a matrix, transposed or not. And what is refused, and what takes
 * memory when. */
#include "support/unit.h"

#include "cluster/mpi/redistribute.h"
#include "cluster/mpi/cluster_layout.h"

enum { EXTENT = 11, OUTSIDE = 1 };

/* ---- Dealing line by line ------------------------------------------------------------------------- */

/* Who has each line of what is dealt out, and where in his memory. */
typedef struct cyclic_lines {
    int64_t process[EXTENT], place[EXTENT];
} cyclic_lines_t;

static cyclic_lines_t distribute_lines(int64_t lines, int64_t block, int64_t source, int64_t processes)
{
    cyclic_lines_t dealt;
    int64_t filled[8] = {0}, turn = source;
    for (int64_t line = 0; line < lines; line++) {
        dealt.process[line] = turn;
        dealt.place[line] = filled[turn]++;
        if (line % block == block - 1)
            turn = (turn + 1) % processes;
    }
    return dealt;
}

/* ---- One layout ----------------------------------------------------------------------------------- */

static double memory[EXTENT * EXTENT];

/* Element (row, col) of the matrix as it is seen, in this rank's memory; -1: it is another's. */
typedef struct expected_element {
    int64_t owner, place;
} expected_element_t;

static expected_element_t find_expected(const rung_cluster_matrix *matrix, const cyclic_lines_t *rows,
                                        const cyclic_lines_t *cols, int64_t row, int64_t col)
{
    const rung_cluster_cyclic *cyclic = &matrix->cyclic;
    int64_t i = cyclic->row_offset + (matrix->transposed ? col : row),
            j = cyclic->col_offset + (matrix->transposed ? row : col);
    int64_t process_row = rows->process[i], process_col = cols->process[j];
    return (expected_element_t){.owner = cyclic->col_major_ranks ? process_col * cyclic->process_rows + process_row
                                                                 : process_row * cyclic->process_cols + process_col,
                                .place = rows->place[i] + cols->place[j] * cyclic->ld};
}

/* Every element of one block. */
static void check_block(const rungi_cluster_layout *layout, const cyclic_lines_t *rows, const cyclic_lines_t *cols,
                        int64_t i, int64_t j)
{
    rungi_rectangle block = rungi_cluster_layout_block(layout, i, j);
    int64_t owner = rungi_cluster_layout_owner(layout, i, j);
    rung_matrix view = {0};
    if (owner == layout->rank)
        view = rungi_cluster_layout_view(layout, i, j);
    for (int64_t row = block.row; row < block.row + block.rows; row++)
        for (int64_t col = block.col; col < block.col + block.cols; col++) {
            expected_element_t right = find_expected(layout->matrix, rows, cols, row, col);
            assert_int_equal(rungi_cluster_layout_axis_block(&layout->rows, row), i);
            assert_int_equal(rungi_cluster_layout_axis_block(&layout->cols, col), j);
            assert_int_equal(owner, right.owner);
            if (owner == layout->rank)
                assert_int_equal(view.offset + (row - block.row) * view.row_stride +
                                     (col - block.col) * view.col_stride,
                                 right.place);
        }
}

/* Blocks cover the matrix once, and a rank's own are just those that it is told to walk. */
static void check_rank(const rung_cluster_matrix *matrix, int64_t rank, int64_t ranks, const cyclic_lines_t *rows,
                       const cyclic_lines_t *cols)
{
    rungi_cluster_layout layout;
    int64_t covered = 0, own = 0, walked = 0;
    if (rungi_cluster_layout_open(matrix, RUNG_CLUSTER_OPERAND_C, rank, ranks, &layout) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    for (int64_t i = 0; i < layout.rows.blocks; i++)
        for (int64_t j = 0; j < layout.cols.blocks; j++) {
            check_block(&layout, rows, cols, i, j);
            covered += rungi_rectangle_elements(rungi_cluster_layout_block(&layout, i, j));
            own += rungi_cluster_layout_owner(&layout, i, j) == rank;
        }
    for (int64_t i = layout.rows.first_own; i < layout.rows.blocks; i += layout.rows.own_step)
        for (int64_t j = layout.cols.first_own; j < layout.cols.blocks; j += layout.cols.own_step) {
            assert_int_equal(rungi_cluster_layout_owner(&layout, i, j), rank);
            walked++;
        }
    assert_int_equal(covered, matrix->rows * matrix->cols);
    assert_int_equal(walked, own);
    rungi_cluster_layout_close(&layout);
}

/* Every rank, and one that has no process. */
static void check_ranks(const rung_cluster_matrix *matrix)
{
    const rung_cluster_cyclic *cyclic = &matrix->cyclic;
    int64_t ranks = cyclic->process_rows * cyclic->process_cols + OUTSIDE;
    cyclic_lines_t rows = distribute_lines(cyclic->row_offset + matrix->rows, cyclic->row_block, cyclic->row_source,
                                           cyclic->process_rows);
    cyclic_lines_t cols = distribute_lines(cyclic->col_offset + matrix->cols, cyclic->col_block, cyclic->col_source,
                                           cyclic->process_cols);
    for (int64_t rank = 0; rank < ranks; rank++)
        check_rank(matrix, rank, ranks, &rows, &cols);
}

static rung_cluster_matrix cyclic_of(int64_t rows, int64_t cols, rung_cluster_cyclic cyclic)
{
    rung_cluster_matrix matrix = rung_cluster_matrix_of_shares(RUNG_F64, rows, cols, memory);
    cyclic.ld = EXTENT;
    matrix.layout = RUNG_CLUSTER_LAYOUT_CYCLIC;
    matrix.cyclic = cyclic;
    return matrix;
}

/* ---- All layouts ---------------------------------------------------------------------------------- */

/* Along one direction everything, along the other something that differs. */
static void elements_match_scalapack_layout(void **state)
{
    (void)state;
    for (int64_t extent = 0; extent < EXTENT; extent++)
        for (int64_t block = 1; block <= 5; block++)
            for (int64_t processes = 1; processes <= 4; processes++)
                for (int64_t source = 0; source < processes; source++)
                    for (int64_t first = 0; first + extent < EXTENT; first += 1 + first) {
                        rung_cluster_matrix matrix = cyclic_of(
                            extent, 1 + extent % 7,
                            (rung_cluster_cyclic){.row_block = block,
                                                  .col_block = 1 + block % 3,
                                                  .row_source = source,
                                                  .col_source = source % (1 + extent % 2),
                                                  .process_rows = processes,
                                                  .process_cols = 1 + extent % 2,
                                                  .col_major_ranks = (int)(first % 2),
                                                  .row_offset = first,
                                                  .col_offset = block % 3});
                        check_ranks(&matrix);
                        matrix.transposed = 1;
                        check_ranks(&matrix);
                        rung_cluster_cyclic *cyclic = &matrix.cyclic;
                        rung_cluster_matrix turned = cyclic_of(
                            matrix.cols, matrix.rows,
                            (rung_cluster_cyclic){.row_block = cyclic->col_block,
                                                  .col_block = cyclic->row_block,
                                                  .row_source = cyclic->col_source,
                                                  .col_source = source,
                                                  .process_rows = cyclic->process_cols,
                                                  .process_cols = processes,
                                                  .col_major_ranks = cyclic->col_major_ranks,
                                                  .row_offset = cyclic->col_offset,
                                                  .col_offset = first});
                        check_ranks(&turned);
                    }
}

/* Of a large matrix of single elements a rank walks its own, and no more. */
static void rank_visits_only_its_own_blocks(void **state)
{
    rung_cluster_matrix matrix = cyclic_of(
        (int64_t)1 << 20, (int64_t)1 << 20,
        (rung_cluster_cyclic){.row_block = 1, .col_block = 1, .process_rows = 1 << 10, .process_cols = 1 << 10});
    rungi_cluster_layout layout;
    (void)state;
    matrix.cyclic.ld = 1 << 10;
    assert_int_equal(rungi_cluster_layout_open(&matrix, RUNG_CLUSTER_OPERAND_A, 12345, 1 << 20, &layout), RUNG_OK);
    assert_int_equal((layout.rows.blocks - layout.rows.first_own + layout.rows.own_step - 1) / layout.rows.own_step,
                     1 << 10);
    assert_int_equal((layout.cols.blocks - layout.cols.first_own + layout.cols.own_step - 1) / layout.cols.own_step,
                     1 << 10);
    rungi_cluster_layout_close(&layout);
}

/* Any splits: the block of a line is the one that has it, also where blocks are empty. */
static void lines_are_found_between_any_splits(void **state)
{
    static const int64_t splits[] = {0, 0, 3, 3, 3, 4, 9, 9};
    rungi_cluster_layout_axis axis = {.extent = 9, .blocks = 7, .splits = splits};
    (void)state;
    for (int64_t line = 0; line < 9; line++) {
        int64_t block = rungi_cluster_layout_axis_block(&axis, line);
        assert_true(rungi_cluster_layout_axis_start(&axis, block) <= line &&
                    line < rungi_cluster_layout_axis_start(&axis, block + 1));
    }
}

/* ---- What is refused ------------------------------------------------------------------------------ */

static rung_status open_it(const rung_cluster_matrix *matrix)
{
    rungi_cluster_layout layout;
    rung_status status = rungi_cluster_layout_open(matrix, RUNG_CLUSTER_OPERAND_A, 0, 4, &layout);
    rungi_cluster_layout_close(&layout);
    return status;
}

static void blocks_without_views_are_refused(void **state)
{
    static const int64_t splits[] = {0, 2, 4};
    static const int owners[] = {0, 1, 0, 0};
    rung_matrix views[3];
    rung_cluster_blocks blocks = {2, 2, splits, splits, owners, views, 3};
    (void)state;
    for (int i = 0; i < 3; i++)
        views[i] = rung_matrix_of(RUNG_F64, 2, 2, memory);
    rung_cluster_matrix matrix = rung_cluster_matrix_of_blocks(RUNG_F64, 4, 4, &blocks);
    assert_int_equal(open_it(&matrix), RUNG_OK);
    matrix.blocks.views = NULL;
    assert_int_equal(open_it(&matrix), RUNG_STATUS_INVALID);
    matrix.blocks.view_count = 0;
    assert_int_equal(open_it(&matrix), RUNG_STATUS_INVALID);
    matrix.blocks.views = views;
    matrix.blocks.view_count = 4;
    assert_int_equal(open_it(&matrix), RUNG_STATUS_INVALID);
    matrix.blocks.view_count = 3;
    matrix.blocks.owners = NULL;
    assert_int_equal(open_it(&matrix), RUNG_STATUS_INVALID);
    matrix.blocks.owners = owners;
    matrix.blocks.row_splits = NULL;
    assert_int_equal(open_it(&matrix), RUNG_STATUS_INVALID);
    matrix = rung_cluster_matrix_of_blocks(RUNG_F64, 4, 4, NULL);
    assert_int_equal(open_it(&matrix), RUNG_STATUS_INVALID);
    matrix = rung_cluster_matrix_of_scalapack(RUNG_F64, NULL, 2, 2, 0, memory);
    assert_int_equal(open_it(&matrix), RUNG_STATUS_INVALID);
}

static rung_cluster_grid grid_of(int64_t pm, int64_t pn, int64_t pk, int64_t a_chunks, int64_t b_chunks)
{
    rung_cluster_grid grid = rung_cluster_grid_of(pm, pn, pk);
    grid.a_chunks = a_chunks;
    grid.b_chunks = b_chunks;
    return grid;
}

static void shares_of_invalid_grids_are_empty(void **state)
{
    const rung_cluster_grid wrong[] = {{0},
                                       grid_of(0, 1, 1, 1, 1),
                                       grid_of(2, 2, 2, 1, 1),
                                       grid_of(1, 1, 1, 0, 1),
                                       grid_of(1, 1, -1, 1, 1),
                                       grid_of((int64_t)1 << 40, (int64_t)1 << 40, 1, 1, 1),
                                       grid_of(1, 1, 1, (int64_t)1 << 60, 1)};
    rung_cluster_problem cluster = rung_cluster_problem_of(4, 100, 100, 100, RUNG_F64, RUNG_F64, RUNG_F64);
    rung_cluster_grid right = grid_of(2, 2, 1, 1, 1);
    rung_cluster_piece piece;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int operand = RUNG_CLUSTER_OPERAND_A; operand <= RUNG_CLUSTER_OPERAND_C; operand++) {
            assert_int_equal(rung_cluster_share_elements(&cluster, &wrong[i], 0, (rung_cluster_operand)operand), 0);
            assert_int_equal(rung_cluster_share_piece(&cluster, &wrong[i], 0, (rung_cluster_operand)operand, 0, &piece),
                             RUNG_STATUS_INVALID);
        }
    assert_int_equal(rung_cluster_share_elements(&cluster, &right, 0, RUNG_CLUSTER_OPERAND_C), 2500);
    assert_int_equal(rung_cluster_share_elements(&cluster, &right, -1, RUNG_CLUSTER_OPERAND_C), 0);
    assert_int_equal(rung_cluster_share_elements(&cluster, &right, 4, RUNG_CLUSTER_OPERAND_C), 0);
    cluster.m = -5;
    assert_int_equal(rung_cluster_share_elements(&cluster, &right, 0, RUNG_CLUSTER_OPERAND_C), 0);
    assert_int_equal(rung_cluster_share_piece(&cluster, &right, 0, (rung_cluster_operand)3, 0, &piece),
                     RUNG_STATUS_INVALID);
    cluster = rung_cluster_problem_of(1000000, 1000, 1000, 1000, RUNG_F64, RUNG_F64, RUNG_F64);
    right = grid_of(100, 100, 100, 8, 8);
    for (int64_t i = 0; i < 64; i++) /* each without looking at all ranks */
        assert_int_equal(rung_cluster_share_piece(&cluster, &right, i, RUNG_CLUSTER_OPERAND_C, i, &piece), RUNG_OK);
}

/* ---- Memory --------------------------------------------------------------------------------------- */

static bool has_memory = true;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
/* Seen from outside, since the linker renames what a sanitizer's library calls too. */
__attribute__((visibility("default"))) void *__wrap_malloc(size_t size);
__attribute__((visibility("default"))) void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    return has_memory ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return has_memory ? __real_calloc(count, size) : NULL;
}

/* What is opened goes there and back in what it has: a rank that fails alone on its way would leave the others waiting. */
static void redistribution_allocates_before_sending(void **state)
{
    enum { SIDE = 5 };
    rungi_cluster_comm comm = {.ranks = 1, .timeout_seconds = 1};
    rung_cluster_problem cluster = rung_cluster_problem_of(1, SIDE, SIDE, SIDE, RUNG_F64, RUNG_F64, RUNG_F64);
    rung_cluster_grid grid = grid_of(1, 1, 1, 2, 1);
    rung_cluster_matrix matrix = cyclic_of(
        SIDE, SIDE, (rung_cluster_cyclic){.row_block = 2, .col_block = 3, .process_rows = 1, .process_cols = 1});
    rungi_cluster_layout layout;
    double share[SIDE * SIDE] = {0};
    (void)state;
    for (int64_t i = 0; i < EXTENT * EXTENT; i++)
        memory[i] = (double)i;
    assert_int_equal(rungi_cluster_layout_open(&matrix, RUNG_CLUSTER_OPERAND_C, 0, 1, &layout), RUNG_OK);
    rungi_redistribution redistribution = {
        .comm = &comm, .layout = &layout, .element_bytes = sizeof(double), .max_message_bytes = 1 << 20};
    assert_int_equal(rungi_redistribution_open(&redistribution, &cluster, &grid, RUNG_CLUSTER_OPERAND_C), RUNG_OK);
    has_memory = false;
    rung_status there = rungi_redistribution_to_shares(&redistribution, NULL, NULL, (char *)share);
    rung_status back = rungi_redistribution_from_shares(&redistribution, NULL, NULL, (const char *)share,
                                                        (rungi_scaling){RUNG_F64, 2.0, 0.0});
    has_memory = true;
    assert_int_equal(there, RUNG_OK);
    assert_int_equal(back, RUNG_OK);
    for (int64_t i = 0; i < SIDE * SIDE; i++) {
        int64_t place = i / SIDE + i % SIDE * EXTENT;
        assert_true(share[i] == (double)place && memory[place] == 2.0 * (double)place);
    }
    rungi_redistribution_close(&redistribution);
    rungi_cluster_layout_close(&layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_match_scalapack_layout),    cmocka_unit_test(rank_visits_only_its_own_blocks),
        cmocka_unit_test(lines_are_found_between_any_splits), cmocka_unit_test(blocks_without_views_are_refused),
        cmocka_unit_test(shares_of_invalid_grids_are_empty),  cmocka_unit_test(redistribution_allocates_before_sending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
