/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_check.c - a block of C that is wrong is seen by the sample, whichever it is and however many blocks there are. */
#include "verify/sampled_check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/interrupt.h"

/* Too large for all elements to be looked at, with more columns of blocks than columns were once drawn, and with a last
 * block in both directions that is smaller than the others. */
enum { M = 49, N = 63, K = 8192, ROWS = 4, COLS = 2 };

static float *a, *b, *c;

static int make_matrices(void **state)
{
    (void)state;
    a = malloc(M * K * sizeof *a);
    b = malloc(K * N * sizeof *b);
    c = malloc(M * N * sizeof *c);
    if (!a || !b || !c)
        return -1;
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    return rung_gemm(NULL, 1, rung_matrix_of(RUNG_F32, M, K, a), rung_matrix_of(RUNG_F32, K, N, b), 0,
                     rung_matrix_of(RUNG_F32, M, N, c));
}

static int free_matrices(void **state)
{
    (void)state;
    free(a);
    free(b);
    free(c);
    return 0;
}

static rung_outofcore_blocking blocks_of(int64_t rows, int64_t cols)
{
    rung_outofcore_blocking blocking = rung_outofcore_blocking_default();
    blocking.block_rows = rows;
    blocking.block_cols = cols;
    blocking.panel_depth = K;
    blocking.row_blocks = (M + rows - 1) / rows;
    blocking.col_blocks = (N + cols - 1) / cols;
    blocking.panels = 1;
    return blocking;
}

static rung_status check_sampled(const rung_outofcore_blocking *blocking, uint64_t seed, lab_sampled_coverage *sample)
{
    rung_outofcore_matrix *matrices[3];
    assert_int_equal(rung_outofcore_matrix_wrap(rung_matrix_of(RUNG_F32, M, K, a), &matrices[0]), RUNG_OK);
    assert_int_equal(rung_outofcore_matrix_wrap(rung_matrix_of(RUNG_F32, K, N, b), &matrices[1]), RUNG_OK);
    assert_int_equal(rung_outofcore_matrix_wrap(rung_matrix_of(RUNG_F32, M, N, c), &matrices[2]), RUNG_OK);
    rung_outofcore_problem problem = rung_outofcore_problem_of(matrices[0], matrices[1]);
    problem.d = matrices[2];
    rung_status status = lab_sampled_check(&problem, matrices[2], blocking, LAB_ACCURACY_BOUNDED, seed, sample);
    for (int i = 0; i < 3; i++)
        rung_outofcore_matrix_destroy(matrices[i]);
    return status;
}

static void add_to_block(const rung_outofcore_blocking *blocking, int64_t row_block, int64_t col_block, float what)
{
    for (int64_t i = row_block * blocking->block_rows; i < M && i < (row_block + 1) * blocking->block_rows; i++)
        for (int64_t j = col_block * blocking->block_cols; j < N && j < (col_block + 1) * blocking->block_cols; j++)
            c[i * N + j] += what;
}

static void wrong_blocks_are_detected(void **state)
{
    rung_outofcore_blocking blocking = blocks_of(ROWS, COLS);
    lab_sampled_coverage sample;
    (void)state;
    assert_int_equal(check_sampled(&blocking, 1, &sample), RUNG_OK);
    assert_true(!sample.is_all && sample.elements >= blocking.row_blocks * blocking.col_blocks);
    for (int i = 0; i < 12; i++) { /* the last row and column of blocks, the first, and some between */
        int64_t row_block = i < 6 ? blocking.row_blocks - 1 : i, col_block = i == 0   ? blocking.col_blocks - 1
                                                                             : i == 1 ? 0
                                                                                      : 5 * i % 29;
        add_to_block(&blocking, row_block, col_block, 4096);
        rung_status status = check_sampled(&blocking, (uint64_t)i, &sample);
        add_to_block(&blocking, row_block, col_block, -4096);
        if (status != RUNG_STATUS_DEVICE_LOST)
            fail_msg("block (%d, %d) is wrong, and was not seen", (int)row_block, (int)col_block);
    }
    assert_int_equal(check_sampled(&blocking, 1, &sample), RUNG_OK);
}

/* Blocks of all shapes: the counts stay within the matrix, and one block is as good as none. */
static void sampled_blocks_of_all_shapes(void **state)
{
    static const int64_t shapes[][2] = {{M, N}, {M, 1}, {1, N}, {M - 1, N - 1}, {32, 7}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        rung_outofcore_blocking blocking = blocks_of(shapes[i][0], shapes[i][1]);
        lab_sampled_coverage sample;
        assert_int_equal(check_sampled(&blocking, i, &sample), RUNG_OK);
        assert_true(sample.elements >= blocking.row_blocks * blocking.col_blocks && sample.elements <= M * N);
    }
}

/* The last of the tests: from then on the process is interrupted. */
static void an_interruption_ends_it(void **state)
{
    rung_outofcore_blocking blocking = blocks_of(ROWS, COLS);
    lab_sampled_coverage sample;
    (void)state;
    lab_interrupt_watch();
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(check_sampled(&blocking, 1, &sample), RUNG_STATUS_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_blocks_are_detected),
                                       cmocka_unit_test(sampled_blocks_of_all_shapes),
                                       cmocka_unit_test(an_interruption_ends_it)};
    return cmocka_run_group_tests(tests, make_matrices, free_matrices);
}
