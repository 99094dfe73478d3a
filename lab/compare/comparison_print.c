/* SPDX-License-Identifier: Apache-2.0 */
/* comparison_print.c - prints a comparison as a table with advice, or as JSON; see compare.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "compare/compare.h"
#include "io/json_writer.h"

void lab_result_format_problem(const lab_result *row, char *text, size_t capacity)
{
    char batch[32] = "";
    bool is_strict = strcmp(row->compute, "strict") == 0;
    if (row->batch != 1)
        snprintf(batch, sizeof batch, " batch %lld", (long long)row->batch);
    snprintf(text, capacity, "%s %lldx%lldx%lld%s%s%s%s%s", row->dtype, (long long)row->m, (long long)row->n,
             (long long)row->k, is_strict ? "" : " ", is_strict ? "" : row->compute, batch, *row->epilogue ? " " : "",
             row->epilogue);
}

/* Returns whether the comparison has the same problem with other parameters, too. */
static bool has_variants(const lab_comparison *comparison, const lab_compare_row_pair *pair)
{
    for (int64_t i = 0; i < comparison->count; i++)
        if (&comparison->pairs[i] != pair &&
            lab_result_is_same_row(comparison->pairs[i].before->row, pair->before->row, false))
            return true;
    return false;
}

/* Writes what the row measured; both names if the new side used another library. */
static void format_names(const lab_comparison *comparison, const lab_compare_row_pair *pair, char *text,
                         size_t capacity)
{
    const lab_result *old = pair->before->row, *new = pair->after->row;
    char after[96];
    lab_result_format_kernel(old->kernel, lab_json_get_text(old->fields, "library", ""), text, capacity);
    lab_result_format_kernel(new->kernel, lab_json_get_text(new->fields, "library", ""), after, sizeof after);
    if (strcmp(text, after) != 0)
        snprintf(text + strlen(text), capacity - strlen(text), ", now %s", after);
    if (has_variants(comparison, pair))
        snprintf(text + strlen(text), capacity - strlen(text), " %s", old->params);
}

static void format_percent(double part, char *text, size_t capacity)
{
    if (isfinite(part) && fabs(part) < 1e6)
        snprintf(text, capacity, "%+.1f%%", 100 * part);
    else
        snprintf(text, capacity, "-");
}

static void format_interval(const lab_change_estimate *estimate, char *text, size_t capacity)
{
    char low[32], high[32];
    format_percent(estimate->low, low, sizeof low);
    format_percent(estimate->high, high, sizeof high);
    bool is_known = strcmp(low, "-") != 0 && strcmp(high, "-") != 0;
    snprintf(text, capacity, is_known ? "%s to %s" : "-", low, high);
}

static void format_runs(const lab_change_estimate *estimate, char *text, size_t capacity)
{
    if (estimate->old_runs == estimate->new_runs)
        snprintf(text, capacity, "%lld", (long long)estimate->old_runs);
    else
        snprintf(text, capacity, "%lld, %lld", (long long)estimate->old_runs, (long long)estimate->new_runs);
}

enum { COLUMNS = 11 };

static void add_row(lab_table *table, const lab_comparison *comparison, const lab_compare_row_pair *pair)
{
    const lab_change_estimate *estimate = &pair->estimate;
    const lab_result *row = pair->before->row;
    char name[224], problem[96], threads[32] = "-", runs[48], before[32], after[32], change[32], interval[72], sd[32],
                                 peak[32];
    char result[96];
    format_names(comparison, pair, name, sizeof name);
    lab_result_format_problem(row, problem, sizeof problem);
    if (row->threads > 0)
        snprintf(threads, sizeof threads, "%lld", (long long)row->threads);
    if (*pair->why_not) {
        snprintf(result, sizeof result, "not compared: %s", pair->why_not);
        lab_table_add(table, COLUMNS,
                      (const char *[]){name, problem, threads, "-", "-", "-", "-", "-", "-", "-", result});
        return;
    }
    format_runs(estimate, runs, sizeof runs);
    snprintf(before, sizeof before, "%.4g", exp(estimate->old_log) * 1e-6);
    snprintf(after, sizeof after, "%.4g", exp(estimate->new_log) * 1e-6);
    format_percent(lab_change_estimate_ratio(estimate), change, sizeof change);
    format_interval(estimate, interval, sizeof interval);
    format_percent(estimate->old_runs > 1 && estimate->new_runs > 1 ? estimate->run_sd : (double)NAN, sd, sizeof sd);
    format_percent(pair->peak_change, peak, sizeof peak);
    snprintf(result, sizeof result, "%s%s%s", lab_change_class_name(estimate->change_class), *pair->note ? " " : "",
             pair->note);
    lab_table_add(table, COLUMNS,
                  (const char *[]){name, problem, threads, runs, before, after, change, interval,
                                   *sd == '+' ? sd + 1 : sd, peak, result});
}

static void print_unmatched(const lab_result *const *rows, int64_t count, const char *side, FILE *out)
{
    for (int64_t i = 0; i < count; i++) {
        char name[96], problem[96];
        lab_result_format_kernel(rows[i]->kernel, lab_json_get_text(rows[i]->fields, "library", ""), name, sizeof name);
        lab_result_format_problem(rows[i], problem, sizeof problem);
        fprintf(out, "only in the %s results: %s %s", side, name, problem);
        if (rows[i]->threads > 0)
            fprintf(out, ", %lld thread%s", (long long)rows[i]->threads, rows[i]->threads == 1 ? "" : "s");
        fputc('\n', out);
    }
}

/* Prints why rows are undecided and what to do. */
static void print_advice(const lab_comparison *comparison, FILE *out)
{
    bool has_few_runs = false;
    for (int64_t i = 0; i < comparison->count; i++) {
        const lab_change_estimate *estimate = &comparison->pairs[i].estimate;
        has_few_runs = has_few_runs || (!*comparison->pairs[i].why_not && (estimate->old_runs < LAB_COMPARE_RUNS_MIN ||
                                                                           estimate->new_runs < LAB_COMPARE_RUNS_MIN));
    }
    if (has_few_runs)
        fprintf(out, "The variation between runs is unknown. Measure at least %d runs per side: rung bench --runs N.\n",
                LAB_COMPARE_RUNS_MIN);
    if (!comparison->interleaved && comparison->totals[LAB_CHANGE_UNKNOWN] > 0)
        fprintf(
            out,
            "The sides were not interleaved: intervals include %.0f %% and the change of the peak, because the machine "
            "may have changed.\nTo find smaller differences, run rung bench --baseline OLD_EXECUTABLE.\n",
            100 * expm1(LAB_COMPARE_DRIFT_LOG));
}

void lab_comparison_print(const lab_comparison *comparison, FILE *out)
{
    lab_table *table = malloc(sizeof *table);
    for (int64_t start = 0; table && start < comparison->count; start += LAB_TABLE_ROWS_MAX - 1) {
        memset(table, 0, sizeof *table);
        lab_table_add(table, COLUMNS,
                      (const char *[]){"kernel", "problem", "threads", comparison->interleaved ? "pairs" : "runs",
                                       "old ms", "new ms", "change", "interval", "run sd", "peak", "result"});
        for (int64_t i = start; i < comparison->count && i < start + LAB_TABLE_ROWS_MAX - 1; i++)
            add_row(table, comparison, &comparison->pairs[i]);
        lab_table_print(table, "llrrrrrrrrl", out);
    }
    free(table);
    print_unmatched(comparison->only_before, comparison->only_before_count, "old", out);
    print_unmatched(comparison->only_after, comparison->only_after_count, "new", out);
    fprintf(
        out,
        "%lld slower, %lld faster, %lld same, %lld cannot tell, of %lld; chance of any wrong \"slower\" or \"faster\": at most 1 %%\n",
        (long long)comparison->totals[LAB_CHANGE_SLOWER], (long long)comparison->totals[LAB_CHANGE_FASTER],
        (long long)comparison->totals[LAB_CHANGE_SAME], (long long)comparison->totals[LAB_CHANGE_UNKNOWN],
        (long long)comparison->count);
    print_advice(comparison, out);
}

static void write_row_json(lab_json *json, const lab_result *row)
{
    lab_json_string(json, "device", row->device);
    lab_json_string(json, "kernel", row->kernel);
    lab_json_string(json, "params", row->params);
    lab_json_string(json, "dtype", row->dtype);
    lab_json_integer(json, "m", row->m);
    lab_json_integer(json, "n", row->n);
    lab_json_integer(json, "k", row->k);
    lab_json_integer(json, "batch", row->batch);
    lab_json_string(json, "compute", row->compute);
    lab_json_string(json, "epilogue", row->epilogue);
    lab_json_integer(json, "threads", row->threads);
}

static void write_pair_json(lab_json *json, const lab_compare_row_pair *pair)
{
    const lab_change_estimate *estimate = &pair->estimate;
    bool is_skipped = *pair->why_not;
    lab_json_begin(json, NULL, '{');
    write_row_json(json, pair->before->row);
    lab_json_string(json, "result", is_skipped ? "not compared" : lab_change_class_name(estimate->change_class));
    lab_json_string(json, "why_not", pair->why_not);
    lab_json_string(json, "note", pair->note);
    lab_json_integer(json, "old_runs", estimate->old_runs);
    lab_json_integer(json, "new_runs", estimate->new_runs);
    lab_json_number(json, "old_ns", is_skipped ? (double)NAN : exp(estimate->old_log));
    lab_json_number(json, "new_ns", is_skipped ? (double)NAN : exp(estimate->new_log));
    lab_json_number(json, "change", is_skipped ? (double)NAN : lab_change_estimate_ratio(estimate));
    lab_json_number(json, "low", is_skipped ? (double)NAN : estimate->low);
    lab_json_number(json, "high", is_skipped ? (double)NAN : estimate->high);
    lab_json_number(json, "p", is_skipped ? (double)NAN : estimate->p);
    lab_json_number(json, "run_sd",
                    is_skipped || estimate->old_runs < 2 || estimate->new_runs < 2 ? (double)NAN : estimate->run_sd);
    lab_json_number(json, "peak_change", pair->peak_change);
    lab_json_end(json, '}');
}

static void write_rows_json(lab_json *json, const char *name, const lab_result *const *rows, int64_t count)
{
    lab_json_begin(json, name, '[');
    for (int64_t i = 0; i < count; i++) {
        lab_json_begin(json, NULL, '{');
        write_row_json(json, rows[i]);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_comparison_print_json(const lab_comparison *comparison, FILE *out)
{
    lab_json json = {.out = out};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-compare/2");
    lab_json_boolean(&json, "interleaved", comparison->interleaved);
    lab_json_integer(&json, "slower", comparison->totals[LAB_CHANGE_SLOWER]);
    lab_json_integer(&json, "faster", comparison->totals[LAB_CHANGE_FASTER]);
    lab_json_integer(&json, "same", comparison->totals[LAB_CHANGE_SAME]);
    lab_json_integer(&json, "cannot_tell", comparison->totals[LAB_CHANGE_UNKNOWN]);
    lab_json_begin(&json, "rows", '[');
    for (int64_t i = 0; i < comparison->count; i++)
        write_pair_json(&json, &comparison->pairs[i]);
    lab_json_end(&json, ']');
    write_rows_json(&json, "only_old", comparison->only_before, comparison->only_before_count);
    write_rows_json(&json, "only_new", comparison->only_after, comparison->only_after_count);
    lab_json_end(&json, '}');
}
