/* SPDX-License-Identifier: Apache-2.0 */
/* significance.c - statistics against tables and values computed by hand, and how often results are wrong where the
 * truth is known: simulated runs with no difference, and with one. */
#include "compare/significance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/random.h"

static void is_about(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-15);
}

/* Quantiles from tables of Student's distribution. */
static void student(void **state)
{
    (void)state;
    assert_true(fabs(lab_student_quantile(0.05, 1) - 12.7062047) < 1e-6);
    assert_true(fabs(lab_student_quantile(0.05, 9) - 2.2621572) < 1e-6);
    assert_true(fabs(lab_student_quantile(0.01, 4) - 4.6040949) < 1e-6);
    assert_true(fabs(lab_student_quantile(0.001, 29) - 3.6594050) < 1e-6);
    assert_true(fabs(lab_student_quantile(0.05, 1e6) - 1.959966) < 1e-5);
    assert_true(fabs(lab_student_tail(1, 1) - 0.5) < 1e-12); /* Cauchy */
    is_about(lab_student_tail(0, 5), 1);
    is_about(lab_student_tail(-3, 5), lab_student_tail(3, 5));
    assert_true(lab_student_tail(INFINITY, 5) == 0);
    assert_true(lab_student_tail(NAN, 5) == 1);
    assert_true(isinf(lab_student_quantile(0.05, 0)));
}

static void evidence(void **state)
{
    const double old[] = {1, 2, 3, 4}, new[] = {1.1, 2.3, 3.1, 4.3};
    (void)state;
    lab_change_estimate pairs = lab_change_estimate_paired(old, new, 4);
    is_about(pairs.new_log - pairs.old_log, 0.2);
    assert_true(fabs(pairs.run_sd - 0.1154700538) < 1e-9);
    assert_true(fabs(pairs.error - 0.0577350269) < 1e-9);
    is_about(pairs.degrees_of_freedom, 3);
    is_about(lab_change_estimate_ratio(&pairs), expm1(0.2));
    /* Welch, by hand: variances 1 and 4 of 3 and 5 runs. */
    lab_change_estimate runs = lab_change_estimate_welch((const double[]){-1, 0, 1}, 3,
                                                         (const double[]){8, 8, 10, 12, 12}, 5, 0.5);
    is_about(runs.error, sqrt(1.0 / 3 + 4.0 / 5));
    is_about(runs.degrees_of_freedom, pow(1.0 / 3 + 0.8, 2) / (1.0 / 9 / 2 + 0.64 / 4));
    is_about(runs.new_log, 10);
    assert_true(runs.drift == 0.5);
    assert_true(lab_change_estimate_welch(old, 1, new, 4, 0).error == 0);
}

/* The middle half by ratio: a round that was disturbed on one side counts on neither. */
static void rounds(void **state)
{
    const double old[] = {1, 1, 9, 1, 1, 1, 1, 1}, new[] = {2, 2, 9, 2, 2, 8, 2, 2};
    double x, y;
    (void)state;
    assert_true(lab_rounds_trimmed_means(old, new, 8, &x, &y));
    is_about(x, 1);
    is_about(y, 2);
    assert_true(lab_rounds_trimmed_means(old, new, 1, &x, &y) && x == 1 && y == 2);
    assert_false(lab_rounds_trimmed_means(old, new, 0, &x, &y));
}

/* `runs` pairs that differ by `change` with a spread of `spread`. */
static lab_change_estimate pairs_of(int64_t runs, double change, double spread)
{
    double old[64], new[64];
    for (int64_t i = 0; i < runs; i++) {
        old[i] = 10;
        new[i] = 10 + log1p(change) + (i % 2 ? spread : -spread);
    }
    return lab_change_estimate_paired(old, new, runs);
}

static lab_change_class compare_one(lab_change_estimate row)
{
    lab_change_estimates_classify(&row, 1);
    assert_true(row.low <= lab_change_estimate_ratio(&row) + 1e-12 &&
                row.high >= lab_change_estimate_ratio(&row) - 1e-12);
    return row.change_class;
}

static void decisions(void **state)
{
    (void)state;
    assert_int_equal(compare_one(pairs_of(10, 0.05, 0.01)), LAB_CHANGE_SLOWER);
    assert_int_equal(compare_one(pairs_of(10, -0.05, 0.01)), LAB_CHANGE_FASTER);
    assert_int_equal(compare_one(pairs_of(10, 0.001, 0.005)), LAB_CHANGE_SAME);
    assert_int_equal(compare_one(pairs_of(10, 0.019, 0)), LAB_CHANGE_SAME); /* certain, and not worth reporting */
    assert_int_equal(compare_one(pairs_of(10, 0.05, 0.1)), LAB_CHANGE_UNKNOWN);
    assert_int_equal(compare_one(pairs_of(10, 0.001, 0.1)), LAB_CHANGE_UNKNOWN);
    for (int64_t runs = 0; runs < LAB_COMPARE_RUNS_MIN; runs++)
        assert_int_equal(compare_one(pairs_of(runs, 0.5, 0)), LAB_CHANGE_UNKNOWN);
    assert_int_equal(compare_one(pairs_of(LAB_COMPARE_RUNS_MIN, 0.5, 0)), LAB_CHANGE_SLOWER);
    assert_string_equal(lab_change_class_name(LAB_CHANGE_UNKNOWN), "cannot tell");
    /* Short times that agree to the nanosecond: 40 and 41 ns are not known to differ, 40 and 80 us are. */
    const double short_old[] = {log(40), log(40), log(40)}, short_new[] = {log(41), log(41), log(41)};
    const double long_old[] = {log(4e4), log(4e4), log(4e4)}, long_new[] = {log(8e4), log(8e4), log(8e4)};
    assert_int_equal(compare_one(lab_change_estimate_paired(short_old, short_new, 3)), LAB_CHANGE_UNKNOWN);
    assert_int_equal(compare_one(lab_change_estimate_welch(short_old, 3, short_new, 3, 0)), LAB_CHANGE_UNKNOWN);
    assert_int_equal(compare_one(lab_change_estimate_paired(long_old, long_new, 3)), LAB_CHANGE_SLOWER);
    assert_int_equal(compare_one(lab_change_estimate_welch(long_old, 3, long_new, 3, 0)), LAB_CHANGE_SLOWER);
    /* Sides that were not interleaved must differ by more than the drift. */
    lab_change_estimate row = pairs_of(10, 0.2, 0);
    row.drift = LAB_COMPARE_DRIFT_LOG;
    assert_int_equal(compare_one(row), LAB_CHANGE_UNKNOWN);
    row = pairs_of(10, 0.3, 0);
    row.drift = LAB_COMPARE_DRIFT_LOG;
    assert_int_equal(compare_one(row), LAB_CHANGE_SLOWER);
}

/* A row that is sure by itself is not among many that are asked at once; and each row's interval excludes no change
 * exactly where its result says so. */
static void many_rows(void **state)
{
    enum { ROWS = 50 };
    lab_change_estimate rows[ROWS];
    double t = lab_student_quantile(0.009, 9);
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        rows[i] = pairs_of(10, i == 7 ? 0.05 : 0, 0.001);
        rows[i].error = i == 7 ? log1p(0.05) / t : 0.001;
    }
    assert_int_equal(compare_one(rows[7]), LAB_CHANGE_SLOWER);
    lab_change_estimates_classify(rows, ROWS);
    assert_int_equal(rows[7].change_class, LAB_CHANGE_UNKNOWN);
    assert_true(rows[7].low < 0 && rows[7].p > LAB_COMPARE_ALPHA);
    rows[7].error = log1p(0.05) / lab_student_quantile(0.009 / ROWS, 9);
    lab_change_estimates_classify(rows, ROWS);
    assert_int_equal(rows[7].change_class, LAB_CHANGE_SLOWER);
    assert_true(rows[7].low > 0 && rows[7].p < LAB_COMPARE_ALPHA);
    assert_int_equal(rows[6].change_class, LAB_CHANGE_SAME);
    lab_change_estimates_classify(NULL, 0);
}

/* ---- How often results are wrong where the truth is known -------------------------------------------------
 *
 * Simulated times with the noise of a shared machine, as results/compare has it: the whole machine is slower or
 * faster from run to run by 20 % and drifts within a run; each process has an effect of its own of 1 %, from where its
 * memory lies, or 4 % where the machine is busy; rounds have 4 % of noise, and one in ten is disturbed by up to
 * 100 %. */

enum { SIMULATED = 2000, RUNS = 10, ROUNDS = 40, SIMULATED_ROWS = 2 };
static const double BASE = 13.8155 /* log of 1 ms */, MACHINE = 0.2, PROCESS = 0.01, BUSY_PROCESS = 0.04, ROUND = 0.04;

static double normal(uint64_t *next)
{
    return lab_random_normal(11, 7, (*next)++);
}

static double disturbed(uint64_t *next)
{
    double draw = lab_random_uniform(12, 7, (*next)++); /* -1 to 1 */
    return ROUND * normal(next) + (draw > 0.8 ? log(2) * (draw - 0.8) / 0.2 : 0);
}

/* One pair of interleaved processes, new slower by `change`. */
static void simulate_pair(double change, double process, uint64_t *next, double *old, double *new)
{
    double x[ROUNDS], y[ROUNDS], machine = BASE + MACHINE * normal(next);
    double own = process * normal(next), other = process * normal(next);
    for (int i = 0; i < ROUNDS; i++) {
        machine += 0.02 * normal(next);
        x[i] = machine + other + disturbed(next);
        y[i] = machine + own + log1p(change) + disturbed(next);
    }
    assert_true(lab_rounds_trimmed_means(x, y, ROUNDS, old, new));
}

/* How many rows of so many comparisons are reported, either way. */
static int count_reported(double change, double process, uint64_t next)
{
    int reported = 0;
    for (int i = 0; i < SIMULATED; i++) {
        lab_change_estimate rows[SIMULATED_ROWS];
        for (int j = 0; j < SIMULATED_ROWS; j++) {
            double old[RUNS], new[RUNS];
            for (int k = 0; k < RUNS; k++)
                simulate_pair(change, process, &next, &old[k], &new[k]);
            rows[j] = lab_change_estimate_paired(old, new, RUNS);
        }
        lab_change_estimates_classify(rows, SIMULATED_ROWS);
        for (int j = 0; j < SIMULATED_ROWS; j++)
            reported += rows[j].change_class == LAB_CHANGE_SLOWER || rows[j].change_class == LAB_CHANGE_FASTER;
    }
    return reported;
}

static void interleaved_runs(void **state)
{
    const int rows = SIMULATED * SIMULATED_ROWS;
    (void)state;
    int false_alarms = count_reported(0, PROCESS, 0), busy = count_reported(0, BUSY_PROCESS, 1u << 30);
    int found = count_reported(0.05, PROCESS, 2u << 30);
    printf(
        "interleaved: %.2f %% of equal rows reported, %.2f %% on a busy machine, %.1f %% of those 5 %% slower found\n",
        100.0 * false_alarms / rows, 100.0 * busy / rows, 100.0 * found / rows);
    assert_true(false_alarms <= rows * 2 / 100);
    assert_true(busy <= rows * 2 / 100);
    assert_true(found >= rows * 90 / 100);
}

/* Sides measured one after the other, five runs each: the sessions differ by what a machine drifts, which all
 * runs of a session share. Samples of one run would find nearly every one of them. */
static int count_separate(double change, double session, uint64_t next)
{
    int reported = 0;
    for (int i = 0; i < SIMULATED; i++) {
        double times[2][5];
        for (int side = 0; side < 2; side++) {
            double machine = BASE + session * normal(&next) + (side ? log1p(change) : 0);
            for (int run = 0; run < 5; run++)
                times[side][run] = machine + 0.02 * normal(&next) + PROCESS * normal(&next);
        }
        lab_change_estimate row = lab_change_estimate_welch(times[0], 5, times[1], 5, LAB_COMPARE_DRIFT_LOG);
        lab_change_estimates_classify(&row, 1);
        reported += row.change_class == LAB_CHANGE_SLOWER || row.change_class == LAB_CHANGE_FASTER;
    }
    return reported;
}

static void separate_runs(void **state)
{
    (void)state;
    int false_alarms = count_separate(0, 0.07, 3u << 30), doubled = count_separate(1, 0.07, 0);
    printf("not interleaved: %.2f %% of equal rows reported, %.1f %% of those twice as slow found\n",
           100.0 * false_alarms / SIMULATED, 100.0 * doubled / SIMULATED);
    assert_true(false_alarms <= SIMULATED * 2 / 100);
    assert_true(doubled >= SIMULATED * 90 / 100);
}

/* And what the numbers themselves are like. */
static void normal_numbers(void **state)
{
    enum { NUMBERS = 20000 };
    double sum = 0, squares = 0;
    int within = 0;
    (void)state;
    for (uint64_t i = 0; i < NUMBERS; i++) {
        double x = lab_random_normal(3, 5, i);
        assert_true(isfinite(x));
        sum += x;
        squares += x * x;
        within += fabs(x) < 1;
    }
    assert_true(fabs(sum / NUMBERS) < 0.03);
    assert_true(fabs(squares / NUMBERS - 1) < 0.04);
    assert_in_range(within, (int)(0.67 * NUMBERS), (int)(0.695 * NUMBERS)); /* 68.3 % */
    assert_true(lab_random_normal(3, 5, 7) != lab_random_normal(4, 5, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student),       cmocka_unit_test(evidence),       cmocka_unit_test(rounds),
        cmocka_unit_test(decisions),     cmocka_unit_test(many_rows),      cmocka_unit_test(interleaved_runs),
        cmocka_unit_test(separate_runs), cmocka_unit_test(normal_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
