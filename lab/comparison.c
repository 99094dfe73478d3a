/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - see comparison.h. */
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "options.h"
#include "table.h"

/* ---- Which rows are of the same thing ---------------------------------------------------------------- */

static bool same_field(const lab_result *x, const lab_result *y, const char *name, const char *otherwise)
{
    return strcmp(lab_text(x->fields, name, otherwise), lab_text(y->fields, name, otherwise)) == 0;
}

static bool is_same_problem(const lab_result *x, const lab_result *y)
{
    return strcmp(x->device, y->device) == 0 && strcmp(x->kernel, y->kernel) == 0 && strcmp(x->dtype, y->dtype) == 0 &&
           x->m == y->m && x->n == y->n && x->k == y->k && x->batch == y->batch &&
           strcmp(x->compute, y->compute) == 0 && strcmp(x->epilogue, y->epilogue) == 0 && x->threads == y->threads &&
           same_field(x, y, "cache", "hot") && same_field(x, y, "inputs", "whole");
}

static int64_t count_like(const lab_results *results, const lab_result *row)
{
    int64_t count = 0;
    for (int64_t i = 0; i < results->count; i++)
        count += is_same_problem(&results->rows[i], row);
    return count;
}

/* By parameters too, where one kernel stands there with several. */
static bool is_match(const lab_results *before, const lab_results *after, const lab_result *x, const lab_result *y)
{
    if (!is_same_problem(x, y))
        return false;
    bool ambiguous = count_like(before, x) > 1 || count_like(after, x) > 1;
    return !ambiguous || strcmp(x->params, y->params) == 0;
}

/* The first that matches and is not taken yet. */
static int64_t find_match(const lab_results *before, const lab_results *after, const lab_result *row, const bool *taken)
{
    for (int64_t i = 0; i < after->count; i++)
        if (!taken[i] && is_match(before, after, row, &after->rows[i]))
            return i;
    return -1;
}

static void match_rows(const lab_results *before, const lab_results *after, bool *taken, lab_comparison *found)
{
    for (int64_t i = 0; i < before->count; i++) {
        int64_t match = find_match(before, after, &before->rows[i], taken);
        if (match < 0) {
            found->only_before[found->only_before_count++] = &before->rows[i];
            continue;
        }
        taken[match] = true;
        found->pairs[found->count++] = (lab_pair){.before = &before->rows[i], .after = &after->rows[match], .p = 1,
                                                  .why_not = "", .note = ""};
    }
    for (int64_t i = 0; i < after->count; i++)
        if (!taken[i])
            found->only_after[found->only_after_count++] = &after->rows[i];
}

/* ---- What their times say ------------------------------------------------------------------------------ */

static double probe_of(const lab_result *row)
{
    return lab_number(row->fields, "probe_gflops", 0);
}

/* Times are the same work at another clock where the probes say so. */
static double scale_of(const lab_pair *pair)
{
    bool same_probe = same_field(pair->before, pair->after, "probe", "none");
    double before = probe_of(pair->before), after = probe_of(pair->after);
    return same_probe && before > 0 && after > 0 ? after / before : 1;
}

static int64_t rounds_a_number(const lab_result *row)
{
    int64_t of = lab_integer(row->fields, "series_of", 1);
    return of > 0 && of < 1 << 30 ? of : 1;
}

/* The mean of the next `count` numbers, of those that are any; 0 if none is. */
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

/* Logarithms of ratios, of the rounds that both have; of as many at a time as the coarser of the two has in a number. */
static int64_t gather_ratios(const lab_pair *pair, double scale, double *ratios)
{
    const lab_value *x = lab_field(pair->before->fields, "series_ns")->first;
    const lab_value *y = lab_field(pair->after->fields, "series_ns")->first;
    int64_t count = 0, x_of = rounds_a_number(pair->before), y_of = rounds_a_number(pair->after);
    while (x && y && count < LAB_PAIRS_MAX) {
        double before = mean_of_next(&x, y_of > x_of ? y_of / x_of : 1);
        double after = mean_of_next(&y, x_of > y_of ? x_of / y_of : 1);
        if (before > 0 && after > 0)
            ratios[count++] = log(after * scale / before);
    }
    return count;
}

static bool has_time(const lab_result *row)
{
    return row->verified && row->median_ns > 0;
}

/* A wrong result, or a time that cannot be. */
static bool is_wrong(const lab_result *row)
{
    return !has_time(row) && (row->state == LAB_ROW_WRONG || row->state == LAB_ROW_IMPLAUSIBLE);
}

/* Why two rows cannot be compared; "" if they can. */
static const char *find_obstacle(const lab_pair *pair)
{
    const lab_result *x = pair->before, *y = pair->after;
    if (!has_time(x) || !has_time(y))
        return !has_time(x) ? "the old has no time" : is_wrong(y) ? "the new is wrong" : "the new has no time";
    if (!same_field(x, y, "time", "event"))
        return "timed by different clocks";
    if (lab_field(x->fields, "series_ns")->count == 0 || lab_field(y->fields, "series_ns")->count == 0)
        return "no series: measured by an older version";
    int64_t x_of = rounds_a_number(x), y_of = rounds_a_number(y);
    if (x_of > y_of ? x_of % y_of != 0 : y_of % x_of != 0)
        return "their rounds are not the same";
    return "";
}

static void compare_pair(lab_pair *pair, bool interleaved)
{
    double ratios[LAB_PAIRS_MAX];
    bool same_mode = same_field(pair->before, pair->after, "mode", "-");
    pair->why_not = find_obstacle(pair);
    if (*pair->why_not)
        return;
    double scale = interleaved && same_mode ? 1 : scale_of(pair);
    pair->pairs = gather_ratios(pair, scale, ratios);
    if (pair->pairs == 0) {
        pair->why_not = "no round that both have";
        return;
    }
    pair->shift = exp(lab_hodges_lehmann(ratios, pair->pairs)) - 1;
    pair->p = lab_signed_rank(ratios, pair->pairs);
    pair->note = scale != 1 ? "scaled by probes" : "";
}

/* Holm's correction is over all that were asked. */
static bool judge_pairs(lab_comparison *found)
{
    double *p = malloc((size_t)(found->count + 1) * sizeof *p);
    int64_t asked = 0, next = 0;
    if (!p)
        return false;
    for (int64_t i = 0; i < found->count; i++)
        if (!*found->pairs[i].why_not)
            p[asked++] = found->pairs[i].p;
    lab_holm(p, asked);
    for (int64_t i = 0; i < found->count; i++) {
        lab_pair *pair = &found->pairs[i];
        if (*pair->why_not)
            continue;
        pair->p = p[next++];
        pair->judgement = lab_judge(pair->p, pair->shift);
        if (pair->judgement == LAB_SAME && lab_least_p(pair->pairs) * (double)asked >= LAB_VERDICT_P)
            pair->note = "too few rounds to tell";
        found->slower += pair->judgement == LAB_SLOWER;
        found->faster += pair->judgement == LAB_FASTER;
    }
    free(p);
    return true;
}

static bool took_turns(const lab_results *before, const lab_results *after)
{
    const char *x = lab_text(before->document.root, "pairing", ""), *y = lab_text(after->document.root, "pairing", "");
    return *x && strcmp(x, y) == 0;
}

bool lab_comparison_make(const lab_results *before, const lab_results *after, lab_comparison *found)
{
    bool *taken = calloc((size_t)after->count + 1, sizeof *taken);
    *found = (lab_comparison){.interleaved = took_turns(before, after)};
    found->pairs = calloc((size_t)before->count + 1, sizeof *found->pairs);
    found->only_before = calloc((size_t)before->count + 1, sizeof *found->only_before);
    found->only_after = calloc((size_t)after->count + 1, sizeof *found->only_after);
    bool good = taken && found->pairs && found->only_before && found->only_after;
    if (good) {
        match_rows(before, after, taken, found);
        for (int64_t i = 0; i < found->count; i++)
            compare_pair(&found->pairs[i], found->interleaved);
        good = judge_pairs(found);
    }
    free(taken);
    if (!good)
        lab_comparison_free(found);
    return good;
}

void lab_comparison_free(lab_comparison *comparison)
{
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
        if (is_wrong(comparison->pairs[i].after))
            return LAB_WRONG;
    }
    return comparison->slower > 0 ? LAB_SLOWED : compared > 0 ? LAB_GOOD : LAB_NOTHING;
}

/* ---- Telling ------------------------------------------------------------------------------------------- */

static void write_problem(const lab_result *row, char *text, size_t capacity)
{
    char batch[32] = "", threads[32] = "";
    if (row->batch != 1)
        snprintf(batch, sizeof batch, " batch %lld", (long long)row->batch);
    if (row->threads > 0)
        snprintf(threads, sizeof threads, " threads %lld", (long long)row->threads);
    snprintf(text, capacity, "%s %lldx%lldx%lld%s%s%s%s%s%s", row->dtype, (long long)row->m, (long long)row->n,
             (long long)row->k, strcmp(row->compute, "strict") == 0 ? "" : " ",
             strcmp(row->compute, "strict") == 0 ? "" : row->compute, batch, *row->epilogue ? " " : "", row->epilogue,
             threads);
}

static void add_row(lab_table *table, const lab_pair *pair)
{
    char problem[96], before[32], after[32], shift[32], p[32], pairs[32], verdict[96];
    bool none = *pair->why_not;
    snprintf(verdict, sizeof verdict, "%s%s%s", none ? "-: " : lab_judgement_name(pair->judgement),
             *pair->note ? ": " : "", none ? pair->why_not : pair->note);
    write_problem(pair->before, problem, sizeof problem);
    snprintf(before, sizeof before, "%.4g", (double)pair->before->median_ns * 1e-6);
    snprintf(after, sizeof after, "%.4g", (double)pair->after->median_ns * 1e-6);
    snprintf(shift, sizeof shift, "%+.1f%%", 100 * pair->shift);
    snprintf(p, sizeof p, "%.2g", pair->p);
    snprintf(pairs, sizeof pairs, "%lld", (long long)pair->pairs);
    lab_table_add(table, 8, (const char *[]){pair->before->kernel, problem, before, after, none ? "-" : shift,
                                             none ? "-" : p, pairs, verdict});
}

static void print_alone(const lab_result *const *rows, int64_t count, const char *where, FILE *out)
{
    for (int64_t i = 0; i < count; i++) {
        char problem[96];
        write_problem(rows[i], problem, sizeof problem);
        fprintf(out, "only in the %s: %s %s\n", where, rows[i]->kernel, problem);
    }
}

void lab_comparison_print(const lab_comparison *comparison, FILE *out)
{
    lab_table *table = malloc(sizeof *table);
    if (!comparison->interleaved)
        fprintf(out, "not interleaved: weaker; times of one machine's moments are held against another's\n");
    for (int64_t start = 0; table && start < comparison->count; start += LAB_TABLE_ROWS - 1) {
        memset(table, 0, sizeof *table);
        lab_table_add(table, 8, (const char *[]){"kernel", "problem", "old ms", "new ms", "shift", "p", "pairs",
                                                 "verdict"});
        for (int64_t i = start; i < comparison->count && i < start + LAB_TABLE_ROWS - 1; i++)
            add_row(table, &comparison->pairs[i]);
        lab_table_print(table, "llrrrrrl", out);
    }
    free(table);
    print_alone(comparison->only_before, comparison->only_before_count, "old", out);
    print_alone(comparison->only_after, comparison->only_after_count, "new", out);
    fprintf(out, "%lld slower, %lld faster, of %lld\n", (long long)comparison->slower, (long long)comparison->faster,
            (long long)comparison->count);
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
    lab_json_begin(json, NULL, '{');
    print_names(json, pair->before);
    lab_json_string(json, "verdict", *pair->why_not ? "none" : lab_judgement_name(pair->judgement));
    lab_json_string(json, "why_not", pair->why_not);
    lab_json_string(json, "note", pair->note);
    lab_json_integer(json, "old_median_ns", pair->before->median_ns);
    lab_json_integer(json, "new_median_ns", pair->after->median_ns);
    lab_json_number(json, "shift", *pair->why_not ? (double)NAN : pair->shift);
    lab_json_number(json, "p", *pair->why_not ? (double)NAN : pair->p);
    lab_json_integer(json, "pairs", pair->pairs);
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
    lab_json_string(&json, "schema", "rung-compare/1");
    lab_json_true(&json, "interleaved", comparison->interleaved);
    lab_json_integer(&json, "slower", comparison->slower);
    lab_json_integer(&json, "faster", comparison->faster);
    lab_json_begin(&json, "rows", '[');
    for (int64_t i = 0; i < comparison->count; i++)
        print_pair(&json, &comparison->pairs[i]);
    lab_json_end(&json, ']');
    print_list(&json, "only_old", comparison->only_before, comparison->only_before_count);
    print_list(&json, "only_new", comparison->only_after, comparison->only_after_count);
    lab_json_end(&json, '}');
}
