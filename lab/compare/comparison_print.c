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

static bool is_printable(double part)
{
    return isfinite(part) && fabs(part) < 1e6;
}

/* Adds a fraction in percent, with its sign unless it is a deviation; "-" if it is unknown. */
static void add_percent(lab_table *table, double part, bool has_sign)
{
    if (is_printable(part))
        lab_table_cell(table, has_sign ? "%+.1f%%" : "%.1f%%", 100 * part);
    else
        lab_table_cell(table, "-");
}

static void add_row(lab_table *table, const lab_comparison *comparison, const lab_compare_row_pair *pair)
{
    const lab_change_estimate *estimate = &pair->estimate;
    const lab_result *row = pair->before->row;
    long long old_runs = estimate->old_runs, new_runs = estimate->new_runs;
    char name[224], problem[96];
    format_names(comparison, pair, name, sizeof name);
    lab_result_format_problem(row, problem, sizeof problem);
    lab_table_add(table, 2, (const char *[]){name, problem});
    lab_table_cell(table, row->threads > 0 ? "%lld" : "-", (long long)row->threads);
    if (*pair->why_not) {
        for (int i = 0; i < 7; i++)
            lab_table_cell(table, "-");
        lab_table_cell(table, "not compared: %s", pair->why_not);
        return;
    }
    lab_table_cell(table, old_runs == new_runs ? "%lld" : "%lld, %lld", old_runs, new_runs);
    lab_table_cell(table, "%.4g", exp(estimate->old_log) * 1e-6);
    lab_table_cell(table, "%.4g", exp(estimate->new_log) * 1e-6);
    add_percent(table, lab_change_estimate_ratio(estimate), true);
    if (is_printable(estimate->low) && is_printable(estimate->high))
        lab_table_cell(table, "%+.1f%% to %+.1f%%", 100 * estimate->low, 100 * estimate->high);
    else
        lab_table_cell(table, "-");
    add_percent(table, old_runs > 1 && new_runs > 1 ? estimate->run_sd : (double)NAN, false);
    add_percent(table, pair->peak_change, true);
    lab_table_cell(table, "%s%s%s", lab_change_class_name(estimate->change_class), *pair->note ? " " : "", pair->note);
}

static void print_unmatched(const lab_compare_rows *rows, const char *side, FILE *out)
{
    for (int64_t i = 0; i < rows->count; i++) {
        const lab_result *row = rows->list[i].row;
        char name[96], problem[96];
        if (rows->list[i].is_matched)
            continue;
        lab_result_format_kernel(row->kernel, lab_json_get_text(row->fields, "library", ""), name, sizeof name);
        lab_result_format_problem(row, problem, sizeof problem);
        fprintf(out, "only in the %s results: %s %s", side, name, problem);
        if (row->threads > 0)
            fprintf(out, ", %lld thread%s", (long long)row->threads, row->threads == 1 ? "" : "s");
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
        lab_table_add(table, 11,
                      (const char *[]){"kernel", "problem", "threads", comparison->interleaved ? "pairs" : "runs",
                                       "old ms", "new ms", "change", "interval", "run sd", "peak", "result"});
        for (int64_t i = start; i < comparison->count && i < start + LAB_TABLE_ROWS_MAX - 1; i++)
            add_row(table, comparison, &comparison->pairs[i]);
        lab_table_print(table, "llrrrrrrrrl", out);
    }
    free(table);
    print_unmatched(&comparison->before, "old", out);
    print_unmatched(&comparison->after, "new", out);
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
    lab_json_sizes(json, row->m, row->n, row->k);
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

static void write_unmatched_json(lab_json *json, const char *name, const lab_compare_rows *rows)
{
    lab_json_begin(json, name, '[');
    for (int64_t i = 0; i < rows->count; i++) {
        if (rows->list[i].is_matched)
            continue;
        lab_json_begin(json, NULL, '{');
        write_row_json(json, rows->list[i].row);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_comparison_print_json(const lab_comparison *comparison, FILE *out)
{
    lab_json json = lab_json_open(out, "rung-compare/2");
    lab_json_boolean(&json, "interleaved", comparison->interleaved);
    lab_json_integer(&json, "slower", comparison->totals[LAB_CHANGE_SLOWER]);
    lab_json_integer(&json, "faster", comparison->totals[LAB_CHANGE_FASTER]);
    lab_json_integer(&json, "same", comparison->totals[LAB_CHANGE_SAME]);
    lab_json_integer(&json, "cannot_tell", comparison->totals[LAB_CHANGE_UNKNOWN]);
    lab_json_begin(&json, "rows", '[');
    for (int64_t i = 0; i < comparison->count; i++)
        write_pair_json(&json, &comparison->pairs[i]);
    lab_json_end(&json, ']');
    write_unmatched_json(&json, "only_old", &comparison->before);
    write_unmatched_json(&json, "only_new", &comparison->after);
    lab_json_end(&json, '}');
}
