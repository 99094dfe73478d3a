/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - see comparison.h. */
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "options.h"
#include "table.h"

/* The most runs per side of which a row is judged. */
enum { RUNS_MAX = 4096 };

/* ---- Which rows measure the same thing ----------------------------------------------------------------- */

static bool same_field(const lab_result *x, const lab_result *y, const char *name, const char *otherwise)
{
    return strcmp(lab_text(x->fields, name, otherwise), lab_text(y->fields, name, otherwise)) == 0;
}

bool lab_same_row(const lab_result *x, const lab_result *y, bool with_params)
{
    return strcmp(x->device, y->device) == 0 && strcmp(x->kernel, y->kernel) == 0 && strcmp(x->dtype, y->dtype) == 0 &&
           x->m == y->m && x->n == y->n && x->k == y->k && x->batch == y->batch &&
           strcmp(x->compute, y->compute) == 0 && strcmp(x->epilogue, y->epilogue) == 0 && x->threads == y->threads &&
           same_field(x, y, "cache", "hot") && same_field(x, y, "inputs", "whole") &&
           (!with_params || strcmp(x->params, y->params) == 0);
}

/* Whether a file has this row with several parameters, so that they tell rows apart. */
static bool is_ambiguous(const lab_results *file, const lab_result *row)
{
    int64_t count = 0;
    for (int64_t i = 0; i < file->count && count < 2; i++)
        count += lab_same_row(&file->rows[i], row, false);
    return count > 1;
}

static bool is_ambiguous_in(const lab_side *side, const lab_result *row)
{
    for (int i = 0; i < side->count; i++)
        if (is_ambiguous(&side->files[i], row))
            return true;
    return false;
}

/* The first of the rows that measures the same and has nothing of this file yet; -1 if there is none. */
static int64_t find_runs(const lab_row_runs *rows, int64_t count, const lab_result *row, bool with_params, int file)
{
    for (int64_t i = 0; i < count; i++)
        if (!rows[i].of_file[file] && lab_same_row(rows[i].row, row, with_params))
            return i;
    return -1;
}

int64_t lab_side_gather(const lab_side *side, lab_row_runs *rows)
{
    int64_t count = 0;
    for (int file = 0; file < side->count; file++)
        for (int64_t i = 0; i < side->files[file].count; i++) {
            const lab_result *row = &side->files[file].rows[i];
            /* Rows of one file are never the same: they are added in order, without a search. */
            int64_t at = file > 0
                             ? find_runs(rows, count, row,
                                         is_ambiguous(&side->files[0], row) || is_ambiguous(&side->files[file], row),
                                         file)
                             : -1;
            if (at < 0) {
                at = count;
                rows[at] = (lab_row_runs){row, calloc((size_t)side->count, sizeof *rows->of_file)};
                if (!rows[at].of_file) {
                    lab_side_release(rows, count);
                    return -1;
                }
                count++;
            }
            rows[at].of_file[file] = row;
        }
    return count;
}

void lab_side_release(lab_row_runs *rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        free(rows[i].of_file);
}

static void match_rows(const lab_side *before, const lab_side *after, bool *taken, lab_comparison *found)
{
    for (int64_t i = 0; i < found->before_count; i++) {
        const lab_result *row = found->before[i].row;
        bool with_params = is_ambiguous_in(before, row) || is_ambiguous_in(after, row);
        int64_t match = 0;
        while (match < found->after_count && (taken[match] || !lab_same_row(row, found->after[match].row, with_params)))
            match++;
        if (match == found->after_count) {
            found->only_before[found->only_before_count++] = row;
            continue;
        }
        taken[match] = true;
        found->pairs[found->count++] = (lab_pair){
            .before = &found->before[i], .after = &found->after[match], .peak_change = NAN, .why_not = "", .note = ""};
    }
    for (int64_t i = 0; i < found->after_count; i++)
        if (!taken[i])
            found->only_after[found->only_after_count++] = found->after[i].row;
}

/* ---- The times of runs --------------------------------------------------------------------------------- */

bool lab_has_time(const lab_result *row)
{
    return row->verified && row->median_ns > 0;
}

static const lab_value *runs_of(const lab_result *row)
{
    return lab_field(row->fields, "runs_ns");
}

static int64_t rounds_a_number(const lab_result *row)
{
    int64_t of = lab_integer(row->fields, "series_of", 1);
    return of > 0 && of < 1 << 30 ? of : 1;
}

/* The mean of the next `count` numbers, of those that are known; 0 if none is. */
static double mean_of_next(const lab_value **at, int64_t count)
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

/* One pair of runs from the rounds that both have; of as many rounds at a time as the coarser series has in
 * one number. False if they have no round in common. */
static bool pair_series(const lab_result *before, const lab_result *after, double *before_log, double *after_log)
{
    double old[LAB_PAIRS_MAX], new[LAB_PAIRS_MAX];
    const lab_value *x = lab_field(before->fields, "series_ns")->first;
    const lab_value *y = lab_field(after->fields, "series_ns")->first;
    int64_t count = 0, x_of = rounds_a_number(before), y_of = rounds_a_number(after);
    if (x_of > y_of ? x_of % y_of != 0 : y_of % x_of != 0)
        return false;
    while (x && y && count < LAB_PAIRS_MAX) {
        double x_mean = mean_of_next(&x, y_of > x_of ? y_of / x_of : 1);
        double y_mean = mean_of_next(&y, x_of > y_of ? x_of / y_of : 1);
        if (x_mean > 0 && y_mean > 0) {
            old[count] = log(x_mean);
            new[count++] = log(y_mean);
        }
    }
    return lab_pair_of_rounds(old, new, count, before_log, after_log);
}

/* Pairs of the runs in one file of each side. */
static int64_t pair_file(const lab_result *before, const lab_result *after, double *before_logs, double *after_logs,
                         int64_t capacity)
{
    const lab_value *x = runs_of(before)->first, *y = runs_of(after)->first;
    int64_t count = 0;
    if (!x && !y)
        return capacity > 0 && pair_series(before, after, before_logs, after_logs);
    for (; x && y && count < capacity; x = x->next, y = y->next)
        if (x->number > 0 && y->number > 0) {
            before_logs[count] = log(x->number);
            after_logs[count++] = log(y->number);
        }
    return count;
}

int64_t lab_run_pairs(const lab_row_runs *before, const lab_row_runs *after, int files, double *before_logs,
                      double *after_logs, int64_t capacity)
{
    int64_t count = 0;
    for (int i = 0; i < files; i++)
        if (before->of_file[i] && after->of_file[i] && lab_has_time(before->of_file[i]) &&
            lab_has_time(after->of_file[i]))
            count += pair_file(before->of_file[i], after->of_file[i], before_logs + count, after_logs + count,
                               capacity - count);
    return count;
}

int64_t lab_run_times(const lab_row_runs *runs, int files, double *logs, int64_t capacity)
{
    int64_t count = 0;
    for (int i = 0; i < files; i++) {
        const lab_result *row = runs->of_file[i];
        if (!row || !lab_has_time(row) || count == capacity)
            continue;
        if (!runs_of(row)->first)
            logs[count++] = log((double)row->median_ns);
        for (const lab_value *at = runs_of(row)->first; at && count < capacity; at = at->next)
            if (at->number > 0)
                logs[count++] = log(at->number);
    }
    return count;
}

bool lab_sides_interleaved(const lab_side *before, const lab_side *after)
{
    for (int i = 0; i < before->count && before->count == after->count; i++) {
        const char *x = lab_text(before->files[i].document.root, "pairing", "");
        const char *y = lab_text(after->files[i].document.root, "pairing", "");
        if (!*x || strcmp(x, y) != 0)
            return false;
    }
    return before->count == after->count;
}

/* The mean logarithm of what the probe came to beside the samples; NAN if a file has none. */
static double log_probe(const lab_row_runs *runs, int files)
{
    double sum = 0;
    int64_t count = 0;
    for (int i = 0; i < files; i++)
        if (runs->of_file[i]) {
            double probe = lab_number(runs->of_file[i]->fields, "probe_gflops", 0);
            sum += probe > 0 ? log(probe) : (double)NAN;
            count++;
        }
    return count > 0 ? sum / (double)count : (double)NAN;
}

/* ---- What they say ---------------------------------------------------------------------------------------- */

/* A wrong result, or a time that cannot be. */
static bool is_wrong(const lab_result *row)
{
    return !lab_has_time(row) && (row->state == LAB_ROW_WRONG || row->state == LAB_ROW_IMPLAUSIBLE);
}

static bool any_wrong(const lab_row_runs *runs, int files)
{
    for (int i = 0; i < files; i++)
        if (runs->of_file[i] && is_wrong(runs->of_file[i]))
            return true;
    return false;
}

static bool any_time(const lab_row_runs *runs, int files)
{
    for (int i = 0; i < files; i++)
        if (runs->of_file[i] && lab_has_time(runs->of_file[i]))
            return true;
    return false;
}

/* Why two rows cannot be compared; "" if they can. */
static const char *find_obstacle(const lab_pair *pair, int before_files, int after_files)
{
    if (!any_time(pair->before, before_files))
        return "the old has no time";
    if (pair->is_wrong)
        return "the new is wrong";
    if (!any_time(pair->after, after_files))
        return "the new has no time";
    return same_field(pair->before->row, pair->after->row, "time", "event") ? "" : "timed by different clocks";
}

static void compare_pair(const lab_side *before, const lab_side *after, bool interleaved, double *x, double *y,
                         lab_pair *pair)
{
    pair->is_wrong = any_wrong(pair->after, after->count);
    pair->why_not = find_obstacle(pair, before->count, after->count);
    if (*pair->why_not)
        return;
    double peak = same_field(pair->before->row, pair->after->row, "probe", "none")
                      ? log_probe(pair->after, after->count) - log_probe(pair->before, before->count)
                      : (double)NAN;
    pair->peak_change = expm1(peak);
    if (interleaved) {
        int64_t count = lab_run_pairs(pair->before, pair->after, before->count, x, y, RUNS_MAX);
        pair->evidence = lab_evidence_of_pairs(x, y, count);
        pair->why_not = count == 0 ? "no round that both have" : "";
        return;
    }
    int64_t x_count = lab_run_times(pair->before, before->count, x, RUNS_MAX);
    int64_t y_count = lab_run_times(pair->after, after->count, y, RUNS_MAX);
    pair->evidence = lab_evidence_of_runs(x, x_count, y, y_count,
                                          LAB_VERDICT_DRIFT + (isfinite(peak) ? fabs(peak) : 0));
}

/* Why it cannot be told, in a few words. */
static const char *find_doubt(const lab_evidence *evidence, bool interleaved)
{
    int64_t runs = evidence->old_runs < evidence->new_runs ? evidence->old_runs : evidence->new_runs;
    if (runs == 1)
        return "from one run";
    if (runs < LAB_RUNS_MIN)
        return "from two runs";
    return interleaved ? "(too noisy)" : "(not interleaved)";
}

/* All rows are decided together: each one more is another chance to be wrong. */
static bool judge_pairs(lab_comparison *found)
{
    lab_evidence *asked = malloc((size_t)(found->count + 1) * sizeof *asked);
    int64_t count = 0, next = 0;
    if (!asked)
        return false;
    for (int64_t i = 0; i < found->count; i++)
        if (!*found->pairs[i].why_not)
            asked[count++] = found->pairs[i].evidence;
    lab_decide(asked, count);
    for (int64_t i = 0; i < found->count; i++) {
        lab_pair *pair = &found->pairs[i];
        if (*pair->why_not)
            continue;
        pair->evidence = asked[next++];
        found->totals[pair->evidence.judgement]++;
        if (pair->evidence.judgement == LAB_UNKNOWN)
            pair->note = find_doubt(&pair->evidence, found->interleaved);
    }
    free(asked);
    return true;
}

static int64_t count_rows(const lab_side *side)
{
    int64_t count = 0;
    for (int i = 0; i < side->count; i++)
        count += side->files[i].count;
    return count;
}

static bool compare_all(const lab_side *before, const lab_side *after, lab_comparison *found)
{
    bool *taken = calloc((size_t)found->after_count + 1, sizeof *taken);
    double *x = malloc(RUNS_MAX * sizeof *x), *y = malloc(RUNS_MAX * sizeof *y);
    bool good = taken && x && y;
    if (good) {
        match_rows(before, after, taken, found);
        for (int64_t i = 0; i < found->count; i++)
            compare_pair(before, after, found->interleaved, x, y, &found->pairs[i]);
        good = judge_pairs(found);
    }
    free(taken);
    free(x);
    free(y);
    return good;
}

bool lab_comparison_make(const lab_side *before, const lab_side *after, lab_comparison *found)
{
    size_t before_rows = (size_t)count_rows(before) + 1, after_rows = (size_t)count_rows(after) + 1;
    *found = (lab_comparison){.interleaved = lab_sides_interleaved(before, after)};
    found->pairs = calloc(before_rows, sizeof *found->pairs);
    found->before = calloc(before_rows, sizeof *found->before);
    found->after = calloc(after_rows, sizeof *found->after);
    found->only_before = calloc(before_rows, sizeof *found->only_before);
    found->only_after = calloc(after_rows, sizeof *found->only_after);
    bool good = found->pairs && found->before && found->after && found->only_before && found->only_after;
    if (good) {
        int64_t x = lab_side_gather(before, found->before), y = lab_side_gather(after, found->after);
        found->before_count = x > 0 ? x : 0;
        found->after_count = y > 0 ? y : 0;
        good = x >= 0 && y >= 0 && compare_all(before, after, found);
    }
    if (!good)
        lab_comparison_free(found);
    return good;
}

void lab_comparison_free(lab_comparison *comparison)
{
    lab_side_release(comparison->before, comparison->before_count);
    lab_side_release(comparison->after, comparison->after_count);
    free(comparison->before);
    free(comparison->after);
    free(comparison->pairs);
    free(comparison->only_before);
    free(comparison->only_after);
    *comparison = (lab_comparison){.count = 0};
}

int lab_comparison_code(const lab_comparison *comparison)
{
    int64_t compared = 0;
    for (int64_t i = 0; i < comparison->count; i++) {
        compared += !*comparison->pairs[i].why_not;
        if (comparison->pairs[i].is_wrong)
            return LAB_WRONG;
    }
    return comparison->totals[LAB_SLOWER] > 0 ? LAB_SLOWED : compared > 0 ? LAB_GOOD : LAB_NOTHING;
}

/* ---- Printing ------------------------------------------------------------------------------------------- */

void lab_write_row_problem(const lab_result *row, char *text, size_t capacity)
{
    char batch[32] = "";
    bool is_strict = strcmp(row->compute, "strict") == 0;
    if (row->batch != 1)
        snprintf(batch, sizeof batch, " batch %lld", (long long)row->batch);
    snprintf(text, capacity, "%s %lldx%lldx%lld%s%s%s%s%s", row->dtype, (long long)row->m, (long long)row->n,
             (long long)row->k, is_strict ? "" : " ", is_strict ? "" : row->compute, batch, *row->epilogue ? " " : "",
             row->epilogue);
}

/* Whether the same problem is there with other parameters too. */
static bool has_variants(const lab_comparison *comparison, const lab_pair *pair)
{
    for (int64_t i = 0; i < comparison->count; i++)
        if (&comparison->pairs[i] != pair && lab_same_row(comparison->pairs[i].before->row, pair->before->row, false))
            return true;
    return false;
}

/* What the row measured; of a library that is another one in the new, both. */
static void write_names(const lab_comparison *comparison, const lab_pair *pair, char *text, size_t capacity)
{
    const lab_result *old = pair->before->row, *new = pair->after->row;
    char after[96];
    lab_write_kernel(old->kernel, lab_text(old->fields, "library", ""), text, capacity);
    lab_write_kernel(new->kernel, lab_text(new->fields, "library", ""), after, sizeof after);
    if (strcmp(text, after) != 0)
        snprintf(text + strlen(text), capacity - strlen(text), ", now %s", after);
    if (has_variants(comparison, pair))
        snprintf(text + strlen(text), capacity - strlen(text), " %s", old->params);
}

static void write_percent(double part, char *text, size_t capacity)
{
    if (isfinite(part) && fabs(part) < 1e6)
        snprintf(text, capacity, "%+.1f%%", 100 * part);
    else
        snprintf(text, capacity, "-");
}

static void write_interval(const lab_evidence *evidence, char *text, size_t capacity)
{
    char low[32], high[32];
    write_percent(evidence->low, low, sizeof low);
    write_percent(evidence->high, high, sizeof high);
    if (*low == '-' && !low[1])
        snprintf(text, capacity, "-");
    else if (*high == '-' && !high[1])
        snprintf(text, capacity, "-");
    else
        snprintf(text, capacity, "%s to %s", low, high);
}

static void write_runs(const lab_evidence *evidence, char *text, size_t capacity)
{
    if (evidence->old_runs == evidence->new_runs)
        snprintf(text, capacity, "%lld", (long long)evidence->old_runs);
    else
        snprintf(text, capacity, "%lld, %lld", (long long)evidence->old_runs, (long long)evidence->new_runs);
}

enum { COLUMNS = 11 };

static void add_row(lab_table *table, const lab_comparison *comparison, const lab_pair *pair)
{
    const lab_evidence *evidence = &pair->evidence;
    const lab_result *row = pair->before->row;
    char name[224], problem[96], threads[32] = "-", runs[48], before[32], after[32], change[32], interval[72], sd[32],
                                 peak[32];
    char result[96];
    write_names(comparison, pair, name, sizeof name);
    lab_write_row_problem(row, problem, sizeof problem);
    if (row->threads > 0)
        snprintf(threads, sizeof threads, "%lld", (long long)row->threads);
    if (*pair->why_not) {
        snprintf(result, sizeof result, "not compared: %s", pair->why_not);
        lab_table_add(table, COLUMNS,
                      (const char *[]){name, problem, threads, "-", "-", "-", "-", "-", "-", "-", result});
        return;
    }
    write_runs(evidence, runs, sizeof runs);
    snprintf(before, sizeof before, "%.4g", exp(evidence->old_log) * 1e-6);
    snprintf(after, sizeof after, "%.4g", exp(evidence->new_log) * 1e-6);
    write_percent(lab_change(evidence), change, sizeof change);
    write_interval(evidence, interval, sizeof interval);
    write_percent(evidence->old_runs > 1 && evidence->new_runs > 1 ? evidence->run_sd : (double)NAN, sd, sizeof sd);
    write_percent(pair->peak_change, peak, sizeof peak);
    snprintf(result, sizeof result, "%s%s%s", lab_judgement_name(evidence->judgement), *pair->note ? " " : "",
             pair->note);
    lab_table_add(table, COLUMNS,
                  (const char *[]){name, problem, threads, runs, before, after, change, interval,
                                   *sd == '+' ? sd + 1 : sd, peak, result});
}

static void print_alone(const lab_result *const *rows, int64_t count, const char *where, FILE *out)
{
    for (int64_t i = 0; i < count; i++) {
        char name[96], problem[96];
        lab_write_kernel(rows[i]->kernel, lab_text(rows[i]->fields, "library", ""), name, sizeof name);
        lab_write_row_problem(rows[i], problem, sizeof problem);
        fprintf(out, "only in the %s: %s %s", where, name, problem);
        if (rows[i]->threads > 0)
            fprintf(out, ", %lld thread%s", (long long)rows[i]->threads, rows[i]->threads == 1 ? "" : "s");
        fputc('\n', out);
    }
}

/* Why rows could not be decided, and what to do about it. */
static void print_advice(const lab_comparison *comparison, FILE *out)
{
    bool few = false;
    for (int64_t i = 0; i < comparison->count; i++) {
        const lab_evidence *evidence = &comparison->pairs[i].evidence;
        few = few || (!*comparison->pairs[i].why_not &&
                      (evidence->old_runs < LAB_RUNS_MIN || evidence->new_runs < LAB_RUNS_MIN));
    }
    if (few)
        fprintf(out,
                "One run does not show how far the next one differs. Measure at least %d runs per side: rung bench "
                "--runs N.\n",
                LAB_RUNS_MIN);
    if (!comparison->interleaved && comparison->totals[LAB_UNKNOWN] > 0)
        fprintf(out,
                "The sides were not interleaved: intervals include %.0f %% and the change of the peak for what the "
                "machine may have\nchanged in between. To find smaller differences: rung bench --baseline "
                "OLD_EXECUTABLE.\n",
                100 * expm1(LAB_VERDICT_DRIFT));
}

void lab_comparison_print(const lab_comparison *comparison, FILE *out)
{
    lab_table *table = malloc(sizeof *table);
    for (int64_t start = 0; table && start < comparison->count; start += LAB_TABLE_ROWS - 1) {
        memset(table, 0, sizeof *table);
        lab_table_add(table, COLUMNS,
                      (const char *[]){"kernel", "problem", "threads", comparison->interleaved ? "pairs" : "runs",
                                       "old ms", "new ms", "change", "interval", "run sd", "peak", "result"});
        for (int64_t i = start; i < comparison->count && i < start + LAB_TABLE_ROWS - 1; i++)
            add_row(table, comparison, &comparison->pairs[i]);
        lab_table_print(table, "llrrrrrrrrl", out);
    }
    free(table);
    print_alone(comparison->only_before, comparison->only_before_count, "old", out);
    print_alone(comparison->only_after, comparison->only_after_count, "new", out);
    fprintf(
        out,
        "%lld slower, %lld faster, %lld same, %lld cannot tell, of %lld; chance of any wrong \"slower\" or \"faster\": at most 1 %%\n",
        (long long)comparison->totals[LAB_SLOWER], (long long)comparison->totals[LAB_FASTER],
        (long long)comparison->totals[LAB_SAME], (long long)comparison->totals[LAB_UNKNOWN],
        (long long)comparison->count);
    print_advice(comparison, out);
}

static void print_names(lab_json *json, const lab_result *row)
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

static void print_pair(lab_json *json, const lab_pair *pair)
{
    const lab_evidence *evidence = &pair->evidence;
    bool none = *pair->why_not;
    lab_json_begin(json, NULL, '{');
    print_names(json, pair->before->row);
    lab_json_string(json, "result", none ? "not compared" : lab_judgement_name(evidence->judgement));
    lab_json_string(json, "why_not", pair->why_not);
    lab_json_string(json, "note", pair->note);
    lab_json_integer(json, "old_runs", evidence->old_runs);
    lab_json_integer(json, "new_runs", evidence->new_runs);
    lab_json_number(json, "old_ns", none ? (double)NAN : exp(evidence->old_log));
    lab_json_number(json, "new_ns", none ? (double)NAN : exp(evidence->new_log));
    lab_json_number(json, "change", none ? (double)NAN : lab_change(evidence));
    lab_json_number(json, "low", none ? (double)NAN : evidence->low);
    lab_json_number(json, "high", none ? (double)NAN : evidence->high);
    lab_json_number(json, "p", none ? (double)NAN : evidence->p);
    lab_json_number(json, "run_sd",
                    none || evidence->old_runs < 2 || evidence->new_runs < 2 ? (double)NAN : evidence->run_sd);
    lab_json_number(json, "peak_change", pair->peak_change);
    lab_json_end(json, '}');
}

static void print_list(lab_json *json, const char *name, const lab_result *const *rows, int64_t count)
{
    lab_json_begin(json, name, '[');
    for (int64_t i = 0; i < count; i++) {
        lab_json_begin(json, NULL, '{');
        print_names(json, rows[i]);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_comparison_print_json(const lab_comparison *comparison, FILE *out)
{
    lab_json json = {.out = out};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-compare/2");
    lab_json_true(&json, "interleaved", comparison->interleaved);
    lab_json_integer(&json, "slower", comparison->totals[LAB_SLOWER]);
    lab_json_integer(&json, "faster", comparison->totals[LAB_FASTER]);
    lab_json_integer(&json, "same", comparison->totals[LAB_SAME]);
    lab_json_integer(&json, "cannot_tell", comparison->totals[LAB_UNKNOWN]);
    lab_json_begin(&json, "rows", '[');
    for (int64_t i = 0; i < comparison->count; i++)
        print_pair(&json, &comparison->pairs[i]);
    lab_json_end(&json, ']');
    print_list(&json, "only_old", comparison->only_before, comparison->only_before_count);
    print_list(&json, "only_new", comparison->only_after, comparison->only_after_count);
    lab_json_end(&json, '}');
}
