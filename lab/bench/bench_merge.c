/* SPDX-License-Identifier: Apache-2.0 */
/* bench_merge.c - merges the results of several runs of rung bench into one document; see baseline.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baseline.h"
#include "io/json_writer.h"

enum { RUNS_MAX = LAB_BENCH_RUNS_MAX };

/* How the numbers of several runs become one. RULE_COPY takes the field of the run that decides the row's state. */
typedef enum rule {
    RULE_COPY,
    RULE_DROP,
    RULE_TIME,
    RULE_MEDIAN,
    RULE_MEDIAN_OF_KNOWN,
    RULE_GEOMETRIC,
    RULE_LEAST,
    RULE_MOST,
    RULE_SUM,
    RULE_INTERVAL,
    RULE_SPEED
} rule_t;

static rule_t rule_of(const char *name)
{
    enum { NAMES_MAX = 16 };
    static const struct {
        rule_t rule;
        const char *names[NAMES_MAX];
    } rules[] = {
        {RULE_DROP, {"series_of", "series_ns", "runs", "runs_ns"}},
        {RULE_TIME, {"median_ns"}},
        {RULE_MEDIAN,
         {"kernel_ns", "call_wall_ns", "up_ns", "down_ns", "host_ns", "hidden_percent", "batch_wall_ns",
          "calls_wall_ns", "over_calls", "percent_of_probe", "percent_of_vendor", "percent_of_best_peer", "over_before",
          "over_first", "h2d_ns", "d2h_ns"}},
        {RULE_MEDIAN_OF_KNOWN, {"fast_median_ns", "slow_median_ns"}},
        {RULE_GEOMETRIC, {"probe_gflops"}},
        {RULE_LEAST, {"min_ns"}},
        {RULE_MOST, {"worst_ns"}},
        {RULE_SUM, {"samples", "outliers", "fast_samples", "slow_samples"}},
        {RULE_INTERVAL, {"ci95_ns"}},
        {RULE_SPEED, {"gflops"}},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (int j = 0; j < NAMES_MAX && rules[i].names[j]; j++)
            if (strcmp(rules[i].names[j], name) == 0)
                return rules[i].rule;
    return RULE_COPY;
}

static void write_value(lab_json *json, const char *name, const lab_json_value *value)
{
    bool is_object = value->kind == LAB_JSON_OBJECT;
    switch (value->kind) {
    case LAB_JSON_OBJECT:
    case LAB_JSON_ARRAY:
        lab_json_begin(json, name, is_object ? '{' : '[');
        for (const lab_json_value *at = value->first; at; at = at->next)
            write_value(json, is_object ? at->name : NULL, at);
        lab_json_end(json, is_object ? '}' : ']');
        break;
    case LAB_JSON_STRING: lab_json_string(json, name, value->text); break;
    case LAB_JSON_BOOLEAN: lab_json_boolean(json, name, value->number != 0); break;
    default: lab_json_number(json, name, value->kind == LAB_JSON_NUMBER ? value->number : (double)NAN);
    }
}

/* A row's runs: their times as logarithms, as they are compared, and the rows themselves. */
typedef struct merged {
    const lab_compare_row *row;
    const lab_result *first; /* the row of the run that decides the state */
    int files;
    double *logs;
    int64_t count;
} merged_t;

/* Returns the priority of a run's row: a wrong result or an impossible time in any run decides the row, then the first
 * time. */
static int run_priority(const lab_result *row)
{
    if (lab_result_has_time(row))
        return 3;
    switch (row->state) {
    case LAB_ROW_WRONG: return 5;
    case LAB_ROW_IMPLAUSIBLE: return 4;
    case LAB_ROW_REFUSED: return 2;
    default: return 1;
    }
}

static const lab_result *find_deciding_run(const lab_compare_row *row, int files)
{
    const lab_result *found = NULL;
    for (int i = 0; i < files; i++)
        if (row->by_file[i] && (!found || run_priority(row->by_file[i]) > run_priority(found)))
            found = row->by_file[i];
    return found;
}

static double median_of(double *numbers, int64_t count)
{
    lab_sort_doubles(numbers, count);
    return count > 0 ? (numbers[(count - 1) / 2] + numbers[count / 2]) / 2 : (double)NAN;
}

static double median_ns_of(const merged_t *merged)
{
    double logs[RUNS_MAX];
    memcpy(logs, merged->logs, (size_t)merged->count * sizeof *logs);
    return exp(median_of(logs, merged->count));
}

/* Returns half of the 95 % interval of the mean over runs, relative to the mean, and at least the resolution of 1 ns; NAN
 * for one run. */
static double half_interval(const merged_t *merged)
{
    int64_t n = merged->count;
    double error = lab_standard_deviation(merged->logs, n) / sqrt((double)n),
           resolution = exp(-lab_mean(merged->logs, n));
    return n > 1 ? fmax(lab_student_quantile(0.05, (double)(n - 1)) * error, resolution) : (double)NAN;
}

/* Combines the numbers of a field over all runs that have a time and this field. Returns NAN if no run has both. */
static double combine(const merged_t *merged, const char *name, rule_t rule)
{
    double numbers[RUNS_MAX], sum = 0, logs = 0, least = INFINITY, most = 0;
    int64_t count = 0;
    for (int i = 0; i < merged->files && count < RUNS_MAX; i++) {
        const lab_result *row = merged->row->by_file[i];
        double number = row && lab_result_has_time(row) ? lab_json_get_number(row->fields, name, (double)NAN)
                                                        : (double)NAN;
        bool is_unknown = number == 0 && (rule == RULE_MEDIAN_OF_KNOWN || rule == RULE_GEOMETRIC);
        if (!isfinite(number) || is_unknown)
            continue;
        numbers[count++] = number;
        sum += number;
        logs += log(number);
        least = fmin(least, number);
        most = fmax(most, number);
    }
    if (count == 0)
        return (double)NAN;
    if (rule == RULE_GEOMETRIC)
        return exp(logs / (double)count);
    return rule == RULE_SUM ? sum : rule == RULE_LEAST ? least : rule == RULE_MOST ? most : median_of(numbers, count);
}

static bool is_time(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, "_ns") == 0;
}

static void write_field(lab_json *json, const merged_t *merged, const lab_json_value *field)
{
    const lab_result *row = merged->first;
    rule_t rule = merged->count > 0 ? rule_of(field->name) : RULE_COPY;
    double median = merged->count > 0 ? median_ns_of(merged) : 0;
    /* The kernels of a call of rung_gemm take less than all of its time. */
    bool is_call = lab_json_get_integer(row->fields, "call_wall_ns", 0) > 0;
    if (rule == RULE_MEDIAN && strcmp(field->name, "kernel_ns") == 0 && !is_call)
        rule = RULE_TIME;
    if (rule == RULE_DROP)
        return;
    double number = rule == RULE_TIME       ? median
                    : rule == RULE_SPEED    ? row->gflops * (double)row->median_ns / median
                    : rule == RULE_INTERVAL ? fmin(median * half_interval(merged), 1e18)
                                            : combine(merged, field->name, rule);
    if (rule == RULE_COPY || (rule == RULE_INTERVAL && merged->count < 2))
        write_value(json, field->name, field);
    else if (is_time(field->name))
        lab_json_integer(json, field->name, isfinite(number) ? (int64_t)llround(number) : 0);
    else
        lab_json_number(json, field->name, number);
}

static void write_row(lab_json *json, const merged_t *merged)
{
    int64_t times[RUNS_MAX];
    lab_json_begin(json, NULL, '{');
    for (const lab_json_value *at = merged->first->fields->first; at; at = at->next)
        write_field(json, merged, at);
    for (int64_t i = 0; i < merged->count; i++)
        times[i] = (int64_t)llround(exp(merged->logs[i]));
    lab_json_integer(json, "runs", merged->count);
    lab_json_times_array(json, "runs_ns", times, merged->count);
    lab_json_end(json, '}');
}

/* Returns how many rows measure the same as this one, and the last of them. */
static int64_t count_same(const lab_compare_rows *rows, const lab_result *row, bool with_params,
                          const lab_compare_row **last)
{
    int64_t same = 0;
    for (int64_t i = 0; i < rows->count; i++)
        if (lab_result_is_same_row(rows->list[i].row, row, with_params)) {
            same++;
            *last = &rows->list[i];
        }
    return same;
}

/* Returns the row that this one is compared with, or NULL. Parameters count if either side has several. */
static const lab_compare_row *find_partner(const lab_compare_rows *own, const lab_compare_rows *partners,
                                           const lab_result *row)
{
    const lab_compare_row *found = NULL;
    bool with_params = count_same(own, row, false, &found) > 1 || count_same(partners, row, false, &found) > 1;
    return count_same(partners, row, with_params, &found) > 0 ? found : NULL;
}

/* Writes the times of a row's runs as logarithms; with a partner, those of the paired runs. Returns their number. */
static int64_t collect_log_times(const lab_bench_merge *merge, const lab_compare_row *row,
                                 const lab_compare_row *partner, double *logs)
{
    double other[RUNS_MAX];
    if (!partner)
        return lab_compare_row_log_times(row, merge->count, logs, RUNS_MAX);
    return merge->is_old ? lab_compare_row_log_time_pairs(row, partner, merge->count, logs, other, RUNS_MAX)
                         : lab_compare_row_log_time_pairs(partner, row, merge->count, other, logs, RUNS_MAX);
}

/* Copies the head of the first run's document. */
static void write_head(const lab_bench_merge *merge, lab_json *json)
{
    for (const lab_json_value *at = merge->runs->document.root->first; at; at = at->next) {
        if (strcmp(at->name, "results") == 0 || strcmp(at->name, "runs") == 0)
            continue;
        if (strcmp(at->name, "complete") == 0)
            lab_json_boolean(json, "complete", merge->is_complete);
        else
            write_value(json, at->name, at);
    }
    lab_json_integer(json, "runs", merge->count);
}

static void write_rows(const lab_bench_merge *merge, const lab_compare_rows *rows, const lab_compare_rows *partners,
                       lab_json *json)
{
    double logs[RUNS_MAX];
    for (int64_t i = 0; i < rows->count; i++) {
        const lab_compare_row *row = &rows->list[i];
        merged_t merged = {
            .row = row, .first = find_deciding_run(row, merge->count), .files = merge->count, .logs = logs};
        if (lab_result_has_time(merged.first))
            merged.count = collect_log_times(merge, row, find_partner(rows, partners, row->row), logs);
        write_row(json, &merged);
    }
}

void lab_bench_merge_write(const lab_bench_merge *merge, FILE *out)
{
    const lab_compare_side own = {merge->runs, merge->count},
                           other = {merge->partners, merge->partners ? own.count : 0};
    lab_compare_rows rows = {0}, partners = {0};
    lab_json json = {.out = out};
    if (merge->count > 0 && lab_compare_rows_collect(&own, &rows) && lab_compare_rows_collect(&other, &partners)) {
        lab_json_begin(&json, NULL, '{');
        write_head(merge, &json);
        lab_json_begin(&json, "results", '[');
        write_rows(merge, &rows, &partners, &json);
        lab_json_end(&json, ']');
        lab_json_end(&json, '}');
    }
    lab_compare_rows_free(&rows);
    lab_compare_rows_free(&partners);
}
