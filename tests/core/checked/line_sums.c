/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums.c - the sums over panels are the same for every instruction set of the processor as those of simple loops: for both
 * types, for panels in a matrix with any alignment, and nothing behind the last column is read into a sum or written. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "core/checked/line_sums.h"

enum { ROWS = RUNGI_PANEL_ROWS, COLS_MAX = 72, STRIDE = 83 };

/* A panel of which the functions read an unaligned copy, and two sets of weights. */
typedef struct panel_case {
    float f32[ROWS * 2 * STRIDE]; /* twice as many rows, because the functions prefetch the next ones */
    double f64[ROWS * 2 * STRIDE];
    int64_t cols;
    bool is_f32;
    _Alignas(64) double col_weights[2][COLS_MAX], col_sizes_of[2][COLS_MAX];
    double row_weights[2][ROWS], row_sizes_of[2][ROWS];
} panel_case;

/* What a function adds to. The sums of columns have one vector more, which must not change. */
typedef struct panel_sums {
    _Alignas(64) double cols[2][2][COLS_MAX + RUNGI_PANEL_LANES];
    double rows[2][2][ROWS];
} panel_sums;

static uint64_t state = 1;

static double random_value(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(int64_t)(state >> 40) * 0x1p-23 - 1;
}

static void fill(panel_case *panel, int64_t cols, bool is_f32)
{
    panel->cols = cols;
    panel->is_f32 = is_f32;
    for (int i = 0; i < ROWS * 2 * STRIDE; i++) {
        panel->f32[i] = (float)random_value();
        panel->f64[i] = random_value();
    }
    for (int set = 0; set < 2; set++) {
        for (int i = 0; i < COLS_MAX; i++) {
            panel->col_weights[set][i] = random_value();
            panel->col_sizes_of[set][i] = fabs(random_value());
        }
        for (int i = 0; i < ROWS; i++) {
            panel->row_weights[set][i] = random_value();
            panel->row_sizes_of[set][i] = fabs(random_value());
        }
    }
}

static double element(const panel_case *panel, int row, int64_t col)
{
    return panel->is_f32 ? (double)panel->f32[1 + row * STRIDE + col] : panel->f64[1 + row * STRIDE + col];
}

static const void *first_of(const panel_case *panel)
{
    return panel->is_f32 ? (const void *)(panel->f32 + 1) : (const void *)(panel->f64 + 1);
}

static void set_sums(panel_sums *sums)
{
    double *all = &sums->cols[0][0][0];
    for (size_t i = 0; i < sizeof sums->cols / sizeof *all; i++)
        all[i] = 0.25 * (double)(i % 5);
    for (size_t i = 0; i < sizeof sums->rows / sizeof *all; i++)
        (&sums->rows[0][0][0])[i] = 0.5 * (double)(i % 3);
}

static void assert_near(const panel_sums *got, const panel_sums *expected, const char *function)
{
    for (size_t i = 0; i < sizeof got->cols / sizeof(double); i++)
        if (!(fabs((&got->cols[0][0][0])[i] - (&expected->cols[0][0][0])[i]) <= 1e-12))
            fail_msg("%s: sum %zu of the columns is %g instead of %g", function, i, (&got->cols[0][0][0])[i],
                     (&expected->cols[0][0][0])[i]);
    for (size_t i = 0; i < sizeof got->rows / sizeof(double); i++)
        if (!(fabs((&got->rows[0][0][0])[i] - (&expected->rows[0][0][0])[i]) <= 1e-12))
            fail_msg("%s: sum %zu of the rows is %g instead of %g", function, i, (&got->rows[0][0][0])[i],
                     (&expected->rows[0][0][0])[i]);
}

static void check_dot(const rungi_line_sums *sums, const panel_case *panel, int sets)
{
    panel_sums got, expected;
    rungi_weighted_sums to[2];
    set_sums(&got);
    set_sums(&expected);
    for (int set = 0; set < sets; set++) {
        to[set] = (rungi_weighted_sums){panel->col_weights[set], panel->col_sizes_of[set], got.rows[set][0],
                                        got.rows[set][1]};
        for (int row = 0; row < ROWS; row++)
            for (int64_t col = 0; col < panel->cols; col++) {
                expected.rows[set][0][row] += element(panel, row, col) * panel->col_weights[set][col];
                expected.rows[set][1][row] += fabs(element(panel, row, col)) * panel->col_sizes_of[set][col];
            }
    }
    sums->dot(first_of(panel), STRIDE, panel->cols, sets, to);
    assert_near(&got, &expected, "dot");
}

static void check_combine(const rungi_line_sums *sums, const panel_case *panel, int sets)
{
    panel_sums got, expected;
    rungi_weighted_sums to[2];
    set_sums(&got);
    set_sums(&expected);
    for (int set = 0; set < sets; set++) {
        to[set] = (rungi_weighted_sums){panel->row_weights[set], panel->row_sizes_of[set], got.cols[set][0],
                                        got.cols[set][1]};
        for (int row = 0; row < ROWS; row++)
            for (int64_t col = 0; col < panel->cols; col++) {
                expected.cols[set][0][col] += element(panel, row, col) * panel->row_weights[set][row];
                expected.cols[set][1][col] += fabs(element(panel, row, col)) * panel->row_sizes_of[set][row];
            }
    }
    sums->combine(first_of(panel), STRIDE, panel->cols, sets, to);
    assert_near(&got, &expected, "combine");
}

static void check_sum_both(const rungi_line_sums *sums, const panel_case *panel)
{
    panel_sums got, expected;
    set_sums(&got);
    set_sums(&expected);
    for (int row = 0; row < ROWS; row++)
        for (int64_t col = 0; col < panel->cols; col++) {
            expected.rows[0][0][row] += element(panel, row, col) * panel->col_weights[0][col];
            expected.cols[0][0][col] += element(panel, row, col) * panel->row_weights[0][row];
        }
    sums->sum_both(first_of(panel), STRIDE, panel->cols, panel->col_weights[0], panel->row_weights[0], got.rows[0][0],
                   got.cols[0][0]);
    assert_near(&got, &expected, "sum_both");
}

static void check_sizes(const rungi_line_sums *sums, const panel_case *panel)
{
    panel_sums got, expected;
    set_sums(&got);
    set_sums(&expected);
    for (int row = 0; row < ROWS; row++)
        for (int64_t col = 0; col < panel->cols; col++) {
            expected.rows[0][0][row] += fabs(element(panel, row, col));
            expected.cols[0][0][col] += fabs(element(panel, row, col));
        }
    sums->row_sizes(first_of(panel), STRIDE, panel->cols, got.rows[0][0]);
    sums->col_sizes(first_of(panel), STRIDE, panel->cols, got.cols[0][0]);
    assert_near(&got, &expected, "row_sizes and col_sizes");
}

static void check_weigh_rows(const rungi_line_sums *sums, const panel_case *panel)
{
    panel_sums got, expected;
    set_sums(&got);
    set_sums(&expected);
    for (int row = 0; row < ROWS; row++)
        for (int64_t col = 0; col < panel->cols; col++) {
            double x = element(panel, row, col) * panel->row_weights[0][row];
            expected.cols[0][0][col] += x;
            expected.cols[0][1][col] += fabs(x);
            expected.rows[0][0][row] += fabs(x);
            expected.rows[0][1][row] += x * x;
        }
    sums->weigh_rows(first_of(panel), STRIDE, panel->cols, panel->row_weights[0], got.cols[0][0], got.cols[0][1],
                     got.rows[0][0], got.rows[0][1]);
    assert_near(&got, &expected, "weigh_rows");
}

static void check_weigh_cols(const rungi_line_sums *sums, const panel_case *panel)
{
    panel_sums got, expected;
    set_sums(&got);
    set_sums(&expected);
    for (int row = 0; row < ROWS; row++)
        for (int64_t col = 0; col < panel->cols; col++) {
            double x = element(panel, row, col) * panel->col_weights[0][col];
            expected.rows[0][0][row] += x;
            expected.rows[0][1][row] += fabs(x);
            expected.cols[0][0][col] += fabs(x);
            expected.cols[0][1][col] += x * x;
        }
    sums->weigh_cols(first_of(panel), STRIDE, panel->cols, panel->col_weights[0], got.rows[0][0], got.rows[0][1],
                     got.cols[0][0], got.cols[0][1]);
    assert_near(&got, &expected, "weigh_cols");
}

static void check_functions(rungi_x86_features features)
{
    const rungi_line_sums *const *variant = rungi_line_sums_for(features);
    for (int is_f32 = 0; is_f32 < 2; is_f32++)
        for (int64_t cols = RUNGI_PANEL_LANES; cols <= COLS_MAX; cols += RUNGI_PANEL_LANES) {
            panel_case panel;
            fill(&panel, cols, is_f32);
            for (int sets = 1; sets <= 2; sets++) {
                check_dot(variant[is_f32], &panel, sets);
                check_combine(variant[is_f32], &panel, sets);
            }
            check_sum_both(variant[is_f32], &panel);
            check_sizes(variant[is_f32], &panel);
            check_weigh_rows(variant[is_f32], &panel);
            check_weigh_cols(variant[is_f32], &panel);
        }
}

static void sums_are_those_of_simple_loops(void **unused)
{
    (void)unused;
    rungi_x86_features processor = rungi_x86_features_detect(), features = {.has_avx2_fma = false};
    check_functions(features);
    features.has_avx2_fma = processor.has_avx2_fma;
    check_functions(features);
    features.has_avx512 = processor.has_avx512;
    check_functions(features);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_those_of_simple_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
