/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - see verdict.h. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>

const char *lab_judgement_name(lab_judgement judgement)
{
    static const char *const names[] = {
#define X(name, word) word,
        LAB_JUDGEMENT_LIST(X)
#undef X
    };
    return judgement < LAB_JUDGEMENT_COUNT ? names[judgement] : "?";
}

/* ---- Student's distribution --------------------------------------------------------------------------- */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double fraction = d;
    for (int i = 1; i <= 500; i++) {
        double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
        double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        fraction *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        fraction *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return fraction;
}

/* The regularised incomplete beta function. */
static double beta(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double lab_student_tail(double t, double freedom)
{
    if (isnan(t) || !(freedom > 0))
        return 1;
    return isinf(t) ? 0 : beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double lab_student_quantile(double chance, double freedom)
{
    double low = 0, high = 1;
    if (!(freedom > 0) || !(chance > 0))
        return INFINITY;
    while (lab_student_tail(high, freedom) > chance && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
        double middle = (low + high) / 2;
        *(lab_student_tail(middle, freedom) > chance ? &low : &high) = middle;
    }
    return high;
}

/* ---- Evidence ------------------------------------------------------------------------------------------ */

double lab_mean(const double *numbers, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += numbers[i];
    return count > 0 ? sum / (double)count : 0;
}

double lab_deviation(const double *numbers, int64_t count)
{
    double mean = lab_mean(numbers, count), squares = 0;
    for (int64_t i = 0; i < count; i++)
        squares += (numbers[i] - mean) * (numbers[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

lab_evidence lab_evidence_of_pairs(const double *old, const double *new, int64_t count)
{
    lab_evidence found = {.old_runs = count,
                          .new_runs = count,
                          .old_log = lab_mean(old, count),
                          .new_log = lab_mean(new, count),
                          .freedom = (double)(count - 1),
                          .p = 1,
                          .judgement = LAB_UNKNOWN};
    double squares = 0, change = found.new_log - found.old_log;
    for (int64_t i = 0; i < count; i++)
        squares += (new[i] - old[i] - change) * (new[i] - old[i] - change);
    if (count > 1) {
        found.run_sd = sqrt(squares / (double)(count - 1));
        found.error = found.run_sd / sqrt((double)count);
    }
    return found;
}

lab_evidence lab_evidence_of_runs(const double *old, int64_t old_count, const double *new, int64_t new_count,
                                  double drift)
{
    lab_evidence found = {.old_runs = old_count,
                          .new_runs = new_count,
                          .old_log = lab_mean(old, old_count),
                          .new_log = lab_mean(new, new_count),
                          .drift = drift,
                          .p = 1,
                          .judgement = LAB_UNKNOWN};
    if (old_count < 2 || new_count < 2)
        return found;
    double old_sd = lab_deviation(old, old_count), new_sd = lab_deviation(new, new_count);
    double x = old_sd * old_sd / (double)old_count, y = new_sd * new_sd / (double)new_count;
    found.error = sqrt(x + y);
    found.freedom = x + y > 0 ? (x + y) * (x + y) / (x * x / (double)(old_count - 1) + y * y / (double)(new_count - 1))
                              : (double)(old_count + new_count - 2);
    found.run_sd = sqrt((old_sd * old_sd + new_sd * new_sd) / 2);
    return found;
}

double lab_change(const lab_evidence *evidence)
{
    return expm1(evidence->new_log - evidence->old_log);
}

/* ---- Rounds -------------------------------------------------------------------------------------------- */

typedef struct round {
    double old, new;
} round_times_t;

static int by_ratio(const void *x, const void *y)
{
    const round_times_t *left = x, *right = y;
    double a = left->new - left->old, b = right->new - right->old;
    return (a > b) - (a < b);
}

bool lab_pair_of_rounds(const double *old, const double *new, int64_t count, double *old_mean, double *new_mean)
{
    round_times_t rounds[LAB_PAIRS_MAX];
    int64_t n = count < LAB_PAIRS_MAX ? count : LAB_PAIRS_MAX, cut = n / 4;
    for (int64_t i = 0; i < n; i++)
        rounds[i] = (round_times_t){old[i], new[i]};
    qsort(rounds, (size_t)(n > 0 ? n : 0), sizeof *rounds, by_ratio);
    *old_mean = *new_mean = 0;
    for (int64_t i = cut; i < n - cut; i++) {
        *old_mean += rounds[i].old / (double)(n - 2 * cut);
        *new_mean += rounds[i].new / (double)(n - 2 * cut);
    }
    return n > 0;
}

/* ---- Decisions ------------------------------------------------------------------------------------------ */

static bool is_decidable(const lab_evidence *row)
{
    return row->old_runs >= LAB_RUNS_MIN && row->new_runs >= LAB_RUNS_MIN;
}

/* The standard error, at least the resolution of the clock. Times are cut off to whole nanoseconds: up to 1 ns per
 * side, however many runs agree. */
static double error_of(const lab_evidence *row)
{
    return fmax(row->error, exp(-row->old_log) + exp(-row->new_log));
}

/* The chance of a change this large beyond the drift, of one row alone. */
static double chance_of(const lab_evidence *row)
{
    double beyond = fabs(row->new_log - row->old_log) - row->drift;
    if (!(beyond > 0))
        return 1;
    return lab_student_tail(beyond / error_of(row), row->freedom);
}

/* The interval that excludes 0 where the row's own chance is below this one. */
static void fill_interval(lab_evidence *row, double chance)
{
    double change = row->new_log - row->old_log;
    double reach = row->drift + error_of(row) * lab_student_quantile(chance, row->freedom);
    row->low = expm1(change - reach);
    row->high = expm1(change + reach);
}

static void judge(lab_evidence *row, bool is_sure)
{
    double change = lab_change(row);
    if (is_sure && fabs(change) > LAB_VERDICT_SHIFT)
        row->judgement = change > 0 ? LAB_SLOWER : LAB_FASTER;
    else if (row->low > -LAB_VERDICT_SHIFT && row->high < LAB_VERDICT_SHIFT)
        row->judgement = LAB_SAME;
}

/* The decidable row with the smallest p that has not been passed yet; NULL past the last. */
static lab_evidence *next_of(lab_evidence *rows, int64_t count, const bool *passed)
{
    lab_evidence *next = NULL;
    for (int64_t i = 0; i < count; i++)
        if (!passed[i] && is_decidable(&rows[i]) && (!next || rows[i].p < next->p))
            next = &rows[i];
    return next;
}

/* Holm's procedure, from the smallest p on: the i-th is held against P / (rows - i), until one fails; that
 * one's limit is then the limit of all others. */
void lab_decide(lab_evidence *rows, int64_t count)
{
    int64_t left = 0;
    bool *passed = calloc((size_t)(count > 0 ? count : 1), sizeof *passed), is_sure = true;
    double least = 0;
    for (int64_t i = 0; i < count; i++) {
        rows[i].p = 1;
        rows[i].judgement = LAB_UNKNOWN;
        rows[i].low = -1;
        rows[i].high = INFINITY;
        left += is_decidable(&rows[i]);
        if (is_decidable(&rows[i]))
            rows[i].p = chance_of(&rows[i]);
    }
    lab_evidence *row;
    while (passed && (row = next_of(rows, count, passed))) {
        is_sure = is_sure && row->p < LAB_VERDICT_P / (double)left;
        fill_interval(row, LAB_VERDICT_P / (double)left);
        least = fmax(least, fmin(1, row->p * (double)left));
        judge(row, is_sure);
        passed[row - rows] = true;
        row->p = least;
        left -= is_sure;
    }
    free(passed);
}
