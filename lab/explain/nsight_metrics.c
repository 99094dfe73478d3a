/* SPDX-License-Identifier: Apache-2.0 */
/* nsight_metrics.c - computes and prints the metrics of nsight_metrics.def. */
#include "explain/nsight_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"

/* Where a value comes from. */
typedef enum origin { COUNTED, COMPILED, PREDICTED } origin_t;
static const char *const origin_words[] = {"counted", "compiled", "predicted"};

/* Counters of a kind of request. */
typedef enum counter { REQUESTS, SECTORS, WAVEFRONTS, CONFLICTS } counter_t;

typedef struct metric {
    const char *name, *unit, *meaning;
    origin_t origin;
    double value; /* NAN if it is not known */
} metric_t;

enum { METRICS_MAX = LAB_NSIGHT_METRICS_MAX };

static double block_sum(const lab_explanation *explanation, lab_access_kind kind, counter_t counter)
{
    lab_access_line all = lab_access_counters_sum(&explanation->counters, 0, kind, NULL);
    switch (counter) {
    case REQUESTS: return (double)all.requests;
    case SECTORS: return (double)all.sectors;
    case WAVEFRONTS: return (double)all.wavefronts;
    default: return (double)(all.wavefronts - all.wavefronts_ideal);
    }
}

static double launch_sum(const lab_explanation *explanation, lab_access_kind kind, counter_t counter)
{
    return block_sum(explanation, kind, counter) * explanation->work.blocks;
}

static double per_request(const lab_explanation *explanation, lab_access_kind kind, counter_t counter)
{
    double requests = block_sum(explanation, kind, REQUESTS);
    return requests > 0 ? block_sum(explanation, kind, counter) / requests : NAN;
}

static bool is_known(const lab_explanation *explanation, origin_t origin)
{
    return origin == COUNTED    ? explanation->is_counted && explanation->work.blocks > 0
           : origin == COMPILED ? explanation->is_compiled && explanation->work.resident_blocks > 0
                                : explanation->prediction.runs;
}

/* Computes all metrics. Returns their number. */
static int find_metrics(const lab_explanation *e, metric_t metrics[METRICS_MAX])
{
    int count = 0;
#define METRIC(name_, unit_, origin_, value_, meaning_) \
    metrics[count++] = (metric_t){.name = name_,        \
                                  .unit = unit_,        \
                                  .meaning = meaning_,  \
                                  .origin = origin_,    \
                                  .value = is_known(e, origin_) ? (value_) : NAN};
#include "explain/nsight_metrics.def"
#undef METRIC
    return count;
}

static void list_names(const metric_t *metrics, int count, lab_nsight_values *measured)
{
    *measured = (lab_nsight_values){.count = count};
    for (int i = 0; i < count; i++) {
        measured->names[i] = metrics[i].name;
        measured->values[i] = NAN;
    }
}

/* Reads the measured values of the explanation's file. Without a file, or if it changed since it was checked, they are not
 * known. */
static void read_measured(const lab_explanation *explanation, const metric_t *metrics, int count,
                          lab_nsight_values *measured)
{
    char why[512];
    list_names(metrics, count, measured);
    if (explanation->nsight_file &&
        !lab_nsight_read(explanation->nsight_file, explanation->kernel, measured, why, sizeof why))
        list_names(metrics, count, measured);
}

bool lab_nsight_file_check(const char *path, char *why, size_t capacity)
{
    static const lab_explanation nothing;
    metric_t metrics[METRICS_MAX];
    lab_nsight_values measured;
    list_names(metrics, find_metrics(&nothing, metrics), &measured);
    return lab_nsight_read(path, "", &measured, why, capacity);
}

static void add_number(lab_table *table, double value)
{
    if (isnan(value))
        lab_table_cell(table, "-");
    else
        lab_table_cell(table, fabs(value) >= 1000 || value == floor(value) ? "%.0f" : "%.4g", value);
}

static void add_metric(lab_table *table, const metric_t *metric, bool has_measured, double measured)
{
    lab_table_begin_row(table);
    lab_table_cell(table, "%s", metric->name);
    add_number(table, metric->value);
    lab_table_cell(table, "%s", origin_words[metric->origin]);
    if (has_measured) {
        add_number(table, measured);
        if (isnan(measured) || isnan(metric->value) || measured == 0)
            lab_table_cell(table, "-");
        else
            lab_table_cell(table, "%.3f", metric->value / measured);
    }
    lab_table_cell(table, "%s%s%s", metric->meaning, *metric->unit ? ", " : "", metric->unit);
}

void lab_explanation_print_metrics(const lab_explanation *explanation)
{
    static const char *const ours[] = {"metric", "value", "origin", "meaning"};
    static const char *const both[] = {"metric", "value", "origin", "measured", "value/measured", "meaning"};
    metric_t metrics[METRICS_MAX];
    lab_nsight_values measured;
    bool has_file = explanation->nsight_file != NULL;
    lab_table *table = calloc(1, sizeof *table);
    int count = find_metrics(explanation, metrics);
    if (!table)
        return;
    read_measured(explanation, metrics, count, &measured);
    printf("\nMetrics of Nsight Compute, for the whole launch\n");
    if (has_file)
        printf("measured: %s of %s\n", *measured.kernel ? measured.kernel : "the kernel", explanation->nsight_file);
    lab_table_add(table, has_file ? 6 : 4, has_file ? both : ours);
    for (int i = 0; i < count; i++)
        add_metric(table, &metrics[i], has_file, measured.values[i]);
    lab_table_print(table, has_file ? "lrlrrl" : "lrll", stdout);
    free(table);
}

void lab_explanation_write_metrics(lab_json *json, const lab_explanation *explanation)
{
    metric_t metrics[METRICS_MAX];
    lab_nsight_values measured;
    int count = find_metrics(explanation, metrics);
    read_measured(explanation, metrics, count, &measured);
    lab_json_begin(json, "metrics", '[');
    for (int i = 0; i < count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "name", metrics[i].name);
        lab_json_number(json, "value", metrics[i].value);
        lab_json_string(json, "origin", origin_words[metrics[i].origin]);
        if (explanation->nsight_file)
            lab_json_number(json, "measured", measured.values[i]);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}
