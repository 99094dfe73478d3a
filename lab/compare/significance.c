/* SPDX-License-Identifier: Apache-2.0 */
/* significance.c - the statistics of a comparison: Student's distribution, paired and Welch tests, Holm's procedure; see
 * significance.h. */
#include "compare/significance.h"

#include <math.h>
#include <stdlib.h>

#include "common/enum_names.h"

LAB_DEFINE_ENUM_NAME(lab_change_class_name, lab_change_class, LAB_CHANGE_CLASS_LIST)

/* ---- Student's distribution ---- */

/* Evaluates the continued fraction of the incomplete beta function by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double fraction = d;
    for (int i = 1; i <= 500; i++) {
        const double terms[] = {i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i)),
                                -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1))};
        for (int j = 0; j < 2; j++) {
            d = 1 + terms[j] * d;
            c = 1 + terms[j] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            fraction *= d * c;
        }
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return fraction;
}

/* Returns the regularised incomplete beta function. */
static double beta(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double lab_student_tail(double t, double degrees_of_freedom)
{
    if (isnan(t) || !(degrees_of_freedom > 0))
        return 1;
    return isinf(t) ? 0 : beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / (degrees_of_freedom + t * t));
}

double lab_student_quantile(double probability, double degrees_of_freedom)
{
    double low = 0, high = 1;
    if (!(degrees_of_freedom > 0) || !(probability > 0))
        return INFINITY;
    while (lab_student_tail(high, degrees_of_freedom) > probability && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
        double middle = (low + high) / 2;
        *(lab_student_tail(middle, degrees_of_freedom) > probability ? &low : &high) = middle;
    }
    return high;
}

/* ---- Evidence ---- */

lab_change_estimate lab_change_estimate_paired(const double *old, const double *new, int64_t count)
{
    lab_change_estimate found = {.old_runs = count,
                                 .new_runs = count,
                                 .old_log = lab_mean(old, count),
                                 .new_log = lab_mean(new, count),
                                 .degrees_of_freedom = (double)(count - 1)};
    double squares = 0, change = found.new_log - found.old_log;
    for (int64_t i = 0; i < count; i++)
        squares += (new[i] - old[i] - change) * (new[i] - old[i] - change);
    if (count > 1) {
        found.run_sd = sqrt(squares / (double)(count - 1));
        found.error = found.run_sd / sqrt((double)count);
    }
    return found;
}

lab_change_estimate lab_change_estimate_welch(const double *old, int64_t old_count, const double *new,
                                              int64_t new_count, double drift)
{
    lab_change_estimate found = {.old_runs = old_count,
                                 .new_runs = new_count,
                                 .old_log = lab_mean(old, old_count),
                                 .new_log = lab_mean(new, new_count),
                                 .drift = drift};
    if (old_count < 2 || new_count < 2)
        return found;
    double old_sd = lab_standard_deviation(old, old_count), new_sd = lab_standard_deviation(new, new_count);
    double x = old_sd * old_sd / (double)old_count, y = new_sd * new_sd / (double)new_count;
    found.error = sqrt(x + y);
    found.degrees_of_freedom = x + y > 0 ? (x + y) * (x + y) /
                                               (x * x / (double)(old_count - 1) + y * y / (double)(new_count - 1))
                                         : (double)(old_count + new_count - 2);
    found.run_sd = sqrt((old_sd * old_sd + new_sd * new_sd) / 2);
    return found;
}

double lab_change_estimate_ratio(const lab_change_estimate *estimate)
{
    return expm1(estimate->new_log - estimate->old_log);
}

/* ---- Rounds ---- */

typedef struct round_times {
    double old, new;
} round_times_t;

static int by_ratio(const void *x, const void *y)
{
    const round_times_t *left = x, *right = y;
    double a = left->new - left->old, b = right->new - right->old;
    return (a > b) - (a < b);
}

bool lab_rounds_trimmed_means(const double *old, const double *new, int64_t count, double *old_mean, double *new_mean)
{
    round_times_t rounds[LAB_COMPARE_ROUNDS_MAX];
    int64_t n = count < LAB_COMPARE_ROUNDS_MAX ? count : LAB_COMPARE_ROUNDS_MAX, trimmed = n / 4;
    for (int64_t i = 0; i < n; i++)
        rounds[i] = (round_times_t){old[i], new[i]};
    qsort(rounds, (size_t)(n > 0 ? n : 0), sizeof *rounds, by_ratio);
    *old_mean = *new_mean = 0;
    for (int64_t i = trimmed; i < n - trimmed; i++) {
        *old_mean += rounds[i].old / (double)(n - 2 * trimmed);
        *new_mean += rounds[i].new / (double)(n - 2 * trimmed);
    }
    return n > 0;
}

/* ---- Decisions ---- */

static bool is_decidable(const lab_change_estimate *row)
{
    return row->old_runs >= LAB_COMPARE_RUNS_MIN && row->new_runs >= LAB_COMPARE_RUNS_MIN;
}

/* Returns the standard error, at least the resolution of the clock. Times are truncated to whole nanoseconds: up to 1 ns per
 * side, however many runs agree. */
static double standard_error_of(const lab_change_estimate *row)
{
    return fmax(row->error, exp(-row->old_log) + exp(-row->new_log));
}

/* Returns the probability of a change this large beyond the drift, for one row alone. */
static double p_value_of(const lab_change_estimate *row)
{
    double beyond = fabs(row->new_log - row->old_log) - row->drift;
    if (!(beyond > 0))
        return 1;
    return lab_student_tail(beyond / standard_error_of(row), row->degrees_of_freedom);
}

/* Computes the interval that excludes 0 if the p-value of the row is below `probability`. */
static void fill_interval(lab_change_estimate *row, double probability)
{
    double change = row->new_log - row->old_log;
    double reach = row->drift + standard_error_of(row) * lab_student_quantile(probability, row->degrees_of_freedom);
    row->low = expm1(change - reach);
    row->high = expm1(change + reach);
}

static void classify_row(lab_change_estimate *row, bool is_sure)
{
    double change = lab_change_estimate_ratio(row);
    if (is_sure && fabs(change) > LAB_COMPARE_MIN_CHANGE)
        row->change_class = change > 0 ? LAB_CHANGE_SLOWER : LAB_CHANGE_FASTER;
    else if (row->low > -LAB_COMPARE_MIN_CHANGE && row->high < LAB_COMPARE_MIN_CHANGE)
        row->change_class = LAB_CHANGE_SAME;
}

/* Returns the untested, decidable row with the smallest p; NULL after the last. */
static lab_change_estimate *smallest_p_row(lab_change_estimate *rows, int64_t count, const bool *is_tested)
{
    lab_change_estimate *next = NULL;
    for (int64_t i = 0; i < count; i++)
        if (!is_tested[i] && is_decidable(&rows[i]) && (!next || rows[i].p < next->p))
            next = &rows[i];
    return next;
}

/* Classifies the rows by Holm's procedure: compares the i-th smallest p with P / (rows - i) until one exceeds its
 * limit. That limit then applies to all remaining rows. */
void lab_change_estimates_classify(lab_change_estimate *rows, int64_t count)
{
    int64_t left = 0;
    bool *is_tested = calloc((size_t)(count > 0 ? count : 1), sizeof *is_tested), is_sure = true;
    double least = 0;
    for (int64_t i = 0; i < count; i++) {
        rows[i].p = 1;
        rows[i].change_class = LAB_CHANGE_UNKNOWN;
        rows[i].low = -1;
        rows[i].high = INFINITY;
        left += is_decidable(&rows[i]);
        if (is_decidable(&rows[i]))
            rows[i].p = p_value_of(&rows[i]);
    }
    lab_change_estimate *row;
    while (is_tested && (row = smallest_p_row(rows, count, is_tested))) {
        is_sure = is_sure && row->p < LAB_COMPARE_ALPHA / (double)left;
        fill_interval(row, LAB_COMPARE_ALPHA / (double)left);
        least = fmax(least, fmin(1, row->p * (double)left));
        classify_row(row, is_sure);
        is_tested[row - rows] = true;
        row->p = least;
        left -= is_sure;
    }
    free(is_tested);
}
