/* SPDX-License-Identifier: Apache-2.0 */
/* bench_merge.c - see bench_merge.h. */
#include "bench/bench_merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "io/json_writer.h"
#include "bench/sample_statistics.h"

enum { RUNS_MAX = LAB_BENCH_RUNS_MAX };

/* How numbers of several runs become one. Every other field is that of the run that decides the row's state. */
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
    static const struct {
        const char *name;
        rule_t rule;
    } rules[] = {
        {"series_of", RULE_DROP},
        {"series_ns", RULE_DROP},
        {"runs", RULE_DROP},
        {"runs_ns", RULE_DROP},
        {"median_ns", RULE_TIME},
        {"kernel_ns", RULE_MEDIAN},
        {"fast_median_ns", RULE_MEDIAN_OF_KNOWN},
        {"slow_median_ns", RULE_MEDIAN_OF_KNOWN},
        {"call_wall_ns", RULE_MEDIAN},
        {"up_ns", RULE_MEDIAN},
        {"down_ns", RULE_MEDIAN},
        {"host_ns", RULE_MEDIAN},
        {"hidden_percent", RULE_MEDIAN},
        {"batch_wall_ns", RULE_MEDIAN},
        {"calls_wall_ns", RULE_MEDIAN},
        {"over_calls", RULE_MEDIAN},
        {"probe_gflops", RULE_GEOMETRIC},
        {"percent_of_probe", RULE_MEDIAN},
        {"percent_of_vendor", RULE_MEDIAN},
        {"percent_of_best_peer", RULE_MEDIAN},
        {"over_before", RULE_MEDIAN},
        {"over_first", RULE_MEDIAN},
        {"h2d_ns", RULE_MEDIAN},
        {"d2h_ns", RULE_MEDIAN},
        {"min_ns", RULE_LEAST},
        {"worst_ns", RULE_MOST},
        {"samples", RULE_SUM},
        {"outliers", RULE_SUM},
        {"fast_samples", RULE_SUM},
        {"slow_samples", RULE_SUM},
        {"ci95_ns", RULE_INTERVAL},
        {"gflops", RULE_SPEED},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].name, name) == 0)
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

/* How much a run's row counts: a wrong result or an impossible time in any run decides the row, then the first time. */
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

/* Half of the 95 % interval of the mean over runs, as a part of it, at least the resolution of 1 ns; NAN of one run. */
static double half_interval(const merged_t *merged)
{
    int64_t n = merged->count;
    double error = lab_standard_deviation(merged->logs, n) / sqrt((double)n),
           resolution = exp(-lab_mean(merged->logs, n));
    return n > 1 ? fmax(lab_student_quantile(0.05, (double)(n - 1)) * error, resolution) : (double)NAN;
}

/* The field's number over all runs that have a time and this field; NAN if none has. */
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

/* Whether the row is a call of rung_gemm, whose kernels take less than all of its time. */
static bool is_call(const lab_result *row)
{
    return lab_json_get_integer(row->fields, "call_wall_ns", 0) > 0;
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
    if (rule == RULE_MEDIAN && strcmp(field->name, "kernel_ns") == 0 && !is_call(row))
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

/* The rows that measure the same as this one; how many, and the last of them. */
static int64_t count_same(const lab_compare_row *rows, int64_t count, const lab_result *row, bool with_params,
                          const lab_compare_row **last)
{
    int64_t same = 0;
    for (int64_t i = 0; i < count; i++)
        if (lab_result_is_same_row(rows[i].row, row, with_params)) {
            same++;
            *last = &rows[i];
        }
    return same;
}

/* The row that this one is compared with: parameters count where either side has several. NULL if there is none. */
static const lab_compare_row *find_partner(const lab_compare_row *own, int64_t own_count, const lab_compare_row *rows,
                                           int64_t count, const lab_result *row)
{
    const lab_compare_row *found = NULL;
    bool with_params = count_same(own, own_count, row, false, &found) > 1 ||
                       count_same(rows, count, row, false, &found) > 1;
    return count_same(rows, count, row, with_params, &found) > 0 ? found : NULL;
}

/* The times of one row's runs; of pairs of runs where there is a partner. */
static int64_t collect_log_times(const lab_bench_merge *merge, const lab_compare_row *row,
                                 const lab_compare_row *partner, double *logs)
{
    double other[RUNS_MAX];
    if (!partner)
        return lab_compare_row_log_times(row, merge->count, logs, RUNS_MAX);
    return merge->is_old ? lab_compare_row_log_time_pairs(row, partner, merge->count, logs, other, RUNS_MAX)
                         : lab_compare_row_log_time_pairs(partner, row, merge->count, other, logs, RUNS_MAX);
}

/* The top of the document is the first run's. */
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

static void write_rows(const lab_bench_merge *merge, const lab_compare_row *rows, int64_t count,
                       const lab_compare_row *partners, int64_t partner_count, lab_json *json)
{
    double logs[RUNS_MAX];
    for (int64_t i = 0; i < count; i++) {
        const lab_compare_row *partner = merge->partners
                                             ? find_partner(rows, count, partners, partner_count, rows[i].row)
                                             : NULL;
        merged_t row = {
            .row = &rows[i], .first = find_deciding_run(&rows[i], merge->count), .files = merge->count, .logs = logs};
        if (lab_result_has_time(row.first))
            row.count = collect_log_times(merge, &rows[i], partner, logs);
        write_row(json, &row);
    }
}

static int64_t count_rows(const lab_results *files, int count)
{
    int64_t rows = 0;
    for (int i = 0; i < count; i++)
        rows += files[i].count;
    return rows;
}

void lab_bench_merge_write(const lab_bench_merge *merge, FILE *out)
{
    lab_compare_row *rows = calloc((size_t)count_rows(merge->runs, merge->count) + 1, sizeof *rows);
    int64_t all = merge->partners ? count_rows(merge->partners, merge->count) : 0;
    lab_compare_row *partners = calloc((size_t)all + 1, sizeof *partners);
    int64_t count = rows ? lab_compare_side_collect_rows(&(lab_compare_side){merge->runs, merge->count}, rows) : -1;
    int64_t partner_count = partners && merge->partners
                                ? lab_compare_side_collect_rows(&(lab_compare_side){merge->partners, merge->count},
                                                                partners)
                                : 0;
    lab_json json = {.out = out};
    if (merge->count > 0 && count >= 0 && partner_count >= 0) {
        lab_json_begin(&json, NULL, '{');
        write_head(merge, &json);
        lab_json_begin(&json, "results", '[');
        write_rows(merge, rows, count, partners, partner_count, &json);
        lab_json_end(&json, ']');
        lab_json_end(&json, '}');
    }
    if (rows && count > 0)
        lab_compare_side_free_rows(rows, count);
    if (partners && partner_count > 0)
        lab_compare_side_free_rows(partners, partner_count);
    free(rows);
    free(partners);
}
