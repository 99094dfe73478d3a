/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - matches the rows of two sides, estimates the change of each, and classifies them; see compare.h. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

/* Runs of a row and side beyond this number are ignored. */
enum { RUNS_MAX = 4096 };

/* ---- Matching rows ---- */

static bool same_field(const lab_result *x, const lab_result *y, const char *name, const char *otherwise)
{
    return strcmp(lab_json_get_text(x->fields, name, otherwise), lab_json_get_text(y->fields, name, otherwise)) == 0;
}

bool lab_result_is_same_row(const lab_result *x, const lab_result *y, bool with_params)
{
    return strcmp(x->device, y->device) == 0 && strcmp(x->kernel, y->kernel) == 0 && strcmp(x->dtype, y->dtype) == 0 &&
           x->m == y->m && x->n == y->n && x->k == y->k && x->batch == y->batch &&
           strcmp(x->compute, y->compute) == 0 && strcmp(x->epilogue, y->epilogue) == 0 && x->threads == y->threads &&
           same_field(x, y, "cache", "hot") && same_field(x, y, "inputs", "whole") &&
           (!with_params || strcmp(x->params, y->params) == 0);
}

/* Returns whether a file has this row with several parameters, so that parameters must match, too. */
static bool needs_parameters(const lab_results *file, const lab_result *row)
{
    int64_t count = 0;
    for (int64_t i = 0; i < file->count && count < 2; i++)
        count += lab_result_is_same_row(&file->rows[i], row, false);
    return count > 1;
}

static bool side_needs_parameters(const lab_compare_side *side, const lab_result *row)
{
    for (int i = 0; i < side->count; i++)
        if (needs_parameters(&side->files[i], row))
            return true;
    return false;
}

/* Returns the row that measures the same and has no result of this file yet. Rows of one file always differ, so those of
 * the first file need no search. Returns NULL if there is none. */
static lab_compare_row *find_row(const lab_compare_side *side, const lab_compare_rows *rows, const lab_result *row,
                                 int file)
{
    bool with_params = needs_parameters(&side->files[0], row) || needs_parameters(&side->files[file], row);
    for (int64_t i = 0; file > 0 && i < rows->count; i++)
        if (!rows->list[i].by_file[file] && lab_result_is_same_row(rows->list[i].row, row, with_params))
            return &rows->list[i];
    return NULL;
}

static bool add_row(const lab_compare_side *side, lab_compare_rows *rows, const lab_result *row, int file)
{
    lab_compare_row *found = find_row(side, rows, row, file);
    if (!found) {
        found = &rows->list[rows->count];
        *found = (lab_compare_row){.row = row, .by_file = calloc((size_t)side->count, sizeof *found->by_file)};
        if (!found->by_file)
            return false;
        rows->count++;
    }
    found->by_file[file] = row;
    return true;
}

bool lab_compare_rows_collect(const lab_compare_side *side, lab_compare_rows *rows)
{
    size_t room = 1;
    for (int i = 0; i < side->count; i++)
        room += (size_t)side->files[i].count;
    *rows = (lab_compare_rows){.list = calloc(room, sizeof *rows->list)};
    for (int file = 0; file < side->count; file++)
        for (int64_t i = 0; i < side->files[file].count; i++)
            if (!rows->list || !add_row(side, rows, &side->files[file].rows[i], file))
                return false;
    return rows->list != NULL;
}

void lab_compare_rows_free(lab_compare_rows *rows)
{
    for (int64_t i = 0; i < rows->count; i++)
        free(rows->list[i].by_file);
    free(rows->list);
    *rows = (lab_compare_rows){.count = 0};
}

static void match_rows(const lab_compare_side *before, const lab_compare_side *after, lab_comparison *found)
{
    for (int64_t i = 0; i < found->before.count; i++) {
        lab_compare_row *old = &found->before.list[i];
        bool with_params = side_needs_parameters(before, old->row) || side_needs_parameters(after, old->row);
        for (int64_t j = 0; !old->is_matched && j < found->after.count; j++) {
            lab_compare_row *new = &found->after.list[j];
            if (new->is_matched || !lab_result_is_same_row(old->row, new->row, with_params))
                continue;
            old->is_matched = new->is_matched = true;
            found->pairs[found->count++] = (lab_compare_row_pair){
                .before = old, .after = new, .peak_change = NAN, .why_not = "", .note = ""};
        }
    }
}

/* ---- Times of runs ---- */

bool lab_result_has_time(const lab_result *row)
{
    return row->verified && row->median_ns > 0;
}

static const lab_json_value *runs_of(const lab_result *row)
{
    return lab_json_get(row->fields, "runs_ns");
}

static int64_t rounds_per_value(const lab_result *row)
{
    int64_t of = lab_json_get_integer(row->fields, "series_of", 1);
    return of > 0 && of < 1 << 30 ? of : 1;
}

/* Returns the mean of the known numbers among the next `count`; 0 without any. */
static double mean_of_next(const lab_json_value **at, int64_t count)
{
    double sum = 0;
    int64_t known = 0;
    for (; *at && count > 0; *at = (*at)->next, count--)
        if ((*at)->number > 0) {
            sum += (*at)->number;
            known++;
        }
    return known > 0 ? sum / (double)known : 0;
}

/* Reduces the common rounds of two runs to one pair of values. Groups the rounds of the finer series as the coarser one
 * does. Returns false if no round is common. */
static bool pair_rounds(const lab_result *before, const lab_result *after, double *before_log, double *after_log)
{
    double old[LAB_COMPARE_ROUNDS_MAX], new[LAB_COMPARE_ROUNDS_MAX];
    const lab_json_value *x = lab_json_get(before->fields, "series_ns")->first;
    const lab_json_value *y = lab_json_get(after->fields, "series_ns")->first;
    int64_t count = 0, x_of = rounds_per_value(before), y_of = rounds_per_value(after);
    if (x_of > y_of ? x_of % y_of != 0 : y_of % x_of != 0)
        return false;
    while (x && y && count < LAB_COMPARE_ROUNDS_MAX) {
        double x_mean = mean_of_next(&x, y_of > x_of ? y_of / x_of : 1);
        double y_mean = mean_of_next(&y, x_of > y_of ? x_of / y_of : 1);
        if (x_mean > 0 && y_mean > 0) {
            old[count] = log(x_mean);
            new[count++] = log(y_mean);
        }
    }
    return lab_rounds_trimmed_means(old, new, count, before_log, after_log);
}

/* Pairs the runs of one file of each side. */
static int64_t pair_runs(const lab_result *before, const lab_result *after, double *before_logs, double *after_logs,
                         int64_t capacity)
{
    const lab_json_value *x = runs_of(before)->first, *y = runs_of(after)->first;
    int64_t count = 0;
    if (!x && !y)
        return capacity > 0 && pair_rounds(before, after, before_logs, after_logs);
    for (; x && y && count < capacity; x = x->next, y = y->next)
        if (x->number > 0 && y->number > 0) {
            before_logs[count] = log(x->number);
            after_logs[count++] = log(y->number);
        }
    return count;
}

int64_t lab_compare_row_log_time_pairs(const lab_compare_row *before, const lab_compare_row *after, int files,
                                       double *before_logs, double *after_logs, int64_t capacity)
{
    int64_t count = 0;
    for (int i = 0; i < files; i++)
        if (before->by_file[i] && after->by_file[i] && lab_result_has_time(before->by_file[i]) &&
            lab_result_has_time(after->by_file[i]))
            count += pair_runs(before->by_file[i], after->by_file[i], before_logs + count, after_logs + count,
                               capacity - count);
    return count;
}

int64_t lab_compare_row_log_times(const lab_compare_row *runs, int files, double *logs, int64_t capacity)
{
    int64_t count = 0;
    for (int i = 0; i < files; i++) {
        const lab_result *row = runs->by_file[i];
        if (!row || !lab_result_has_time(row) || count == capacity)
            continue;
        if (!runs_of(row)->first)
            logs[count++] = log((double)row->median_ns);
        for (const lab_json_value *at = runs_of(row)->first; at && count < capacity; at = at->next)
            if (at->number > 0)
                logs[count++] = log(at->number);
    }
    return count;
}

static bool are_interleaved(const lab_compare_side *before, const lab_compare_side *after)
{
    for (int i = 0; i < before->count && before->count == after->count; i++) {
        const char *x = lab_json_get_text(before->files[i].document.root, "pairing", "");
        const char *y = lab_json_get_text(after->files[i].document.root, "pairing", "");
        if (!*x || strcmp(x, y) != 0)
            return false;
    }
    return before->count == after->count;
}

/* Returns the mean logarithm of the probe's GFLOPS beside the samples; NAN if a file has none. */
static double mean_log_probe(const lab_compare_row *runs, int files)
{
    double sum = 0;
    int64_t count = 0;
    for (int i = 0; i < files; i++)
        if (runs->by_file[i]) {
            double probe = lab_json_get_number(runs->by_file[i]->fields, "probe_gflops", 0);
            sum += probe > 0 ? log(probe) : (double)NAN;
            count++;
        }
    return count > 0 ? sum / (double)count : (double)NAN;
}

/* ---- Classification ---- */

/* Returns whether the result is wrong or its time is impossible. */
static bool is_wrong(const lab_result *row)
{
    return !lab_result_has_time(row) && (row->state == LAB_ROW_WRONG || row->state == LAB_ROW_IMPLAUSIBLE);
}

static bool any_file(const lab_compare_row *runs, int files, bool (*is_true)(const lab_result *))
{
    for (int i = 0; i < files; i++)
        if (runs->by_file[i] && is_true(runs->by_file[i]))
            return true;
    return false;
}

/* Returns why two rows cannot be compared; "" if they can. */
static const char *why_not_compared(const lab_compare_row_pair *pair, int before_files, int after_files)
{
    if (!any_file(pair->before, before_files, lab_result_has_time))
        return "the old row has no time";
    if (pair->is_wrong)
        return "the new result is wrong";
    if (!any_file(pair->after, after_files, lab_result_has_time))
        return "the new row has no time";
    return same_field(pair->before->row, pair->after->row, "time", "event") ? "" : "timed by different clocks";
}

static void compare_pair(const lab_compare_side *before, const lab_compare_side *after, bool is_interleaved,
                         lab_compare_row_pair *pair)
{
    double x[RUNS_MAX], y[RUNS_MAX];
    pair->is_wrong = any_file(pair->after, after->count, is_wrong);
    pair->why_not = why_not_compared(pair, before->count, after->count);
    if (*pair->why_not)
        return;
    double peak = same_field(pair->before->row, pair->after->row, "probe", "none")
                      ? mean_log_probe(pair->after, after->count) - mean_log_probe(pair->before, before->count)
                      : (double)NAN;
    pair->peak_change = expm1(peak);
    if (is_interleaved) {
        int64_t count = lab_compare_row_log_time_pairs(pair->before, pair->after, before->count, x, y, RUNS_MAX);
        pair->estimate = lab_change_estimate_paired(x, y, count);
        pair->why_not = count == 0 ? "no common round" : "";
        return;
    }
    int64_t x_count = lab_compare_row_log_times(pair->before, before->count, x, RUNS_MAX);
    int64_t y_count = lab_compare_row_log_times(pair->after, after->count, y, RUNS_MAX);
    pair->estimate = lab_change_estimate_welch(x, x_count, y, y_count,
                                               LAB_COMPARE_DRIFT_LOG + (isfinite(peak) ? fabs(peak) : 0));
}

/* Returns why a change is unknown, in a few words. */
static const char *why_unknown(const lab_change_estimate *estimate, bool is_interleaved)
{
    int64_t runs = estimate->old_runs < estimate->new_runs ? estimate->old_runs : estimate->new_runs;
    if (runs == 1)
        return "from one run";
    if (runs < LAB_COMPARE_RUNS_MIN)
        return "from two runs";
    return is_interleaved ? "(too noisy)" : "(not interleaved)";
}

/* Classifies all rows together, because each row adds a chance of a wrong result. */
static bool classify_pairs(lab_comparison *found)
{
    lab_change_estimate *estimates = malloc((size_t)(found->count + 1) * sizeof *estimates);
    int64_t count = 0, next = 0;
    if (!estimates)
        return false;
    for (int64_t i = 0; i < found->count; i++)
        if (!*found->pairs[i].why_not)
            estimates[count++] = found->pairs[i].estimate;
    lab_change_estimates_classify(estimates, count);
    for (int64_t i = 0; i < found->count; i++) {
        lab_compare_row_pair *pair = &found->pairs[i];
        if (*pair->why_not)
            continue;
        pair->estimate = estimates[next++];
        found->totals[pair->estimate.change_class]++;
        if (pair->estimate.change_class == LAB_CHANGE_UNKNOWN)
            pair->note = why_unknown(&pair->estimate, found->interleaved);
    }
    free(estimates);
    return true;
}

static bool compare_sides(const lab_compare_side *before, const lab_compare_side *after, lab_comparison *found)
{
    if (!lab_compare_rows_collect(before, &found->before) || !lab_compare_rows_collect(after, &found->after))
        return false;
    found->pairs = calloc((size_t)found->before.count + 1, sizeof *found->pairs);
    if (!found->pairs)
        return false;
    match_rows(before, after, found);
    for (int64_t i = 0; i < found->count; i++)
        compare_pair(before, after, found->interleaved, &found->pairs[i]);
    return classify_pairs(found);
}

bool lab_comparison_create(const lab_compare_side *before, const lab_compare_side *after, lab_comparison *found)
{
    *found = (lab_comparison){.interleaved = are_interleaved(before, after)};
    if (compare_sides(before, after, found))
        return true;
    lab_comparison_free(found);
    return false;
}

void lab_comparison_free(lab_comparison *comparison)
{
    lab_compare_rows_free(&comparison->before);
    lab_compare_rows_free(&comparison->after);
    free(comparison->pairs);
    *comparison = (lab_comparison){.count = 0};
}

int lab_comparison_exit_code(const lab_comparison *comparison)
{
    int64_t compared = 0;
    for (int64_t i = 0; i < comparison->count; i++) {
        compared += !*comparison->pairs[i].why_not;
        if (comparison->pairs[i].is_wrong)
            return LAB_EXIT_WRONG;
    }
    return comparison->totals[LAB_CHANGE_SLOWER] > 0 ? LAB_EXIT_SLOWER
           : compared > 0                            ? LAB_EXIT_SUCCESS
                                                     : LAB_EXIT_UNAVAILABLE;
}
