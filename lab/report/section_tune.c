/* SPDX-License-Identifier: Apache-2.0 */
/* section_tune.c - what rung tune tried and found, and heat maps of parameters. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 24, VALUES_MAX = 24, PARAMETER_TEXT_BYTES = 32, TRIALS_MIN = 4 };

/* ---- Heat ---- */

/* A parameter and the values that it was given. */
typedef struct parameter {
    char name[PARAMETER_TEXT_BYTES], values[VALUES_MAX][PARAMETER_TEXT_BYTES];
    int count;
} tried_parameter_t;

/* The next "NAME=value" of a list; NULL behind the last. */
static const char *next_pair(const char *at, char name[PARAMETER_TEXT_BYTES], char value[PARAMETER_TEXT_BYTES])
{
    size_t length = strcspn(at, ","), equals = strcspn(at, "=");
    if (!*at)
        return NULL;
    name[0] = value[0] = '\0';
    if (equals < length) {
        snprintf(name, PARAMETER_TEXT_BYTES, "%.*s", (int)equals, at);
        snprintf(value, PARAMETER_TEXT_BYTES, "%.*s", (int)(length - equals - 1), at + equals + 1);
    }
    return at + length + (at[length] == ',');
}

static bool find_value(const char *params, const char *wanted, char value[PARAMETER_TEXT_BYTES])
{
    char name[PARAMETER_TEXT_BYTES];
    for (const char *at = params; (at = next_pair(at, name, value)) != NULL;)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

static int value_index(const tried_parameter_t *parameter, const char *value)
{
    for (int i = 0; i < parameter->count; i++)
        if (strcmp(parameter->values[i], value) == 0)
            return i;
    return -1;
}

static void add_parameter_value(tried_parameter_t *list, int *count, const char *name, const char *value)
{
    int i = 0;
    while (i < *count && strcmp(list[i].name, name) != 0)
        i++;
    if (i == NAMES_MAX || !*name)
        return;
    if (i == *count)
        snprintf(list[(*count)++].name, PARAMETER_TEXT_BYTES, "%s", name);
    if (value_index(&list[i], value) < 0 && list[i].count < VALUES_MAX)
        snprintf(list[i].values[list[i].count++], PARAMETER_TEXT_BYTES, "%s", value);
}

static int by_number(const void *a, const void *b)
{
    double x = strtod(a, NULL), y = strtod(b, NULL);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* The two that have the most values go to the front. */
static void sort_by_value_count(tried_parameter_t *list, int count)
{
    for (int place = 0; place < 2 && place < count; place++)
        for (int i = place + 1; i < count; i++)
            if (list[i].count > list[place].count) {
                tried_parameter_t other = list[place];
                list[place] = list[i];
                list[i] = other;
            }
}

static void fill_cells(const tried_parameter_t *x, const tried_parameter_t *y, const lab_heat_map_sample *tried,
                       int count, double *cells, lab_data_table *grid)
{
    char value[PARAMETER_TEXT_BYTES];
    for (int i = 0; i < count; i++) {
        int column = find_value(tried[i].params, x->name, value) ? value_index(x, value) : -1;
        int row = find_value(tried[i].params, y->name, value) ? value_index(y, value) : -1;
        if (column >= 0 && row >= 0)
            cells[row * x->count + column] = fmax(cells[row * x->count + column], tried[i].gflops);
        lab_data_table_add(grid, "%s", tried[i].params);
        lab_data_table_add_number(grid, tried[i].gflops);
    }
}

static void draw_heat_figure(lab_report *report, lab_figure *figure, tried_parameter_t *list,
                             const lab_heat_map_sample *tried, int count)
{
    tried_parameter_t *x = &list[0], *y = &list[1];
    const char *x_values[VALUES_MAX], *y_values[VALUES_MAX];
    double cells[VALUES_MAX * VALUES_MAX] = {0};
    lab_data_table grid;
    qsort(x->values, (size_t)x->count, PARAMETER_TEXT_BYTES, by_number);
    qsort(y->values, (size_t)y->count, PARAMETER_TEXT_BYTES, by_number);
    for (int i = 0; i < x->count; i++)
        x_values[i] = x->values[i];
    for (int i = 0; i < y->count; i++)
        y_values[i] = y->values[i];
    lab_data_table_begin(&grid, 2, "lr", (const char *[]){"parameters", "GFLOPS"});
    fill_cells(x, y, tried, count, cells, &grid);
    lab_heat_map heat = {.x_name = x->name,
                         .y_name = y->name,
                         .x_values = x_values,
                         .y_values = y_values,
                         .x_count = x->count,
                         .y_count = y->count,
                         .cells = cells};
    figure->data = &heat;
    figure->grid = &grid;
    lab_page_figure(&report->page, figure);
    lab_data_table_free(&grid);
}

void lab_report_heat_map(lab_report *report, const char *title, const char *slug, const char *caption,
                         const lab_heat_map_sample *tried, int count)
{
    tried_parameter_t *list = calloc(NAMES_MAX + 1, sizeof *list);
    int names = 0;
    char name[PARAMETER_TEXT_BYTES], value[PARAMETER_TEXT_BYTES];
    for (int i = 0; i < count && list; i++)
        for (const char *at = tried[i].params; (at = next_pair(at, name, value)) != NULL;)
            add_parameter_value(list, &names, name, value);
    if (list && names >= 2) {
        sort_by_value_count(list, names);
        lab_figure figure = {.slug = slug,
                             .title = title,
                             .kind = LAB_FIGURE_MEASURED,
                             .caption = caption,
                             .description = "The best GFLOPS for each pair of values of the two parameters that vary "
                                            "most.",
                             .draw = lab_draw_heat_map};
        if (list[0].count > 1)
            draw_heat_figure(report, &figure, list, tried, count);
    }
    free(list);
}

/* ---- Searches ---- */

/* What was timed of the kernel that won, where the file holds it. */
static bool draw_trials(lab_report *report, const lab_json_value *row)
{
    const lab_json_value *trials = lab_json_get(row, "trials");
    const char *kernel = lab_json_get_text(row, "kernel", "");
    int64_t m = lab_json_get_integer(row, "m", 0), n = lab_json_get_integer(row, "n", 0),
            k = lab_json_get_integer(row, "k", 0);
    lab_heat_map_sample *tried = calloc((size_t)trials->count + 1, sizeof *tried);
    char title[300], problem[96], slug[200];
    int count = 0;
    for (const lab_json_value *at = trials->kind == LAB_JSON_ARRAY ? trials->first : NULL; at && tried; at = at->next) {
        double ns = lab_json_get_number(at, "ns", 0);
        if (ns > 0 && strcmp(lab_json_get_text(at, "kernel", ""), kernel) == 0)
            tried[count++] = (lab_heat_map_sample){lab_json_get_text(at, "params", ""), lab_flops(m, n, k) / ns};
    }
    lab_format_problem(m, n, k, problem, sizeof problem);
    snprintf(title, sizeof title, "%.60s: candidates for %s, %.40s", kernel, problem,
             lab_json_get_text(row, "dtype", ""));
    snprintf(slug, sizeof slug, "tune %.40s %s %.20s", kernel, problem, lab_json_get_text(row, "dtype", ""));
    if (count >= TRIALS_MIN)
        lab_report_heat_map(
            report, title, slug,
            "The best candidate for each pair of values; the overall best has a frame. Empty: not tried, or rejected.",
            tried, count);
    free(tried);
    return count >= TRIALS_MIN;
}

static void add_search_row(lab_data_table *grid, const lab_json_value *row)
{
    char problem[96];
    double ratio = lab_json_get_number(row, "challenger_ratio", 0);
    lab_format_problem(lab_json_get_integer(row, "m", 0), lab_json_get_integer(row, "n", 0),
                       lab_json_get_integer(row, "k", 0), problem, sizeof problem);
    lab_data_table_add(grid, "%s", problem);
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "dtype", ""));
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "kernel", ""));
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "params", ""));
    lab_data_table_add_number(grid, lab_json_get_number(row, "gflops", 0));
    lab_data_table_add_number(grid, lab_json_get_number(row, "default_gflops", 0));
    if (ratio > 0)
        lab_data_table_add(grid, "%.2f x", ratio);
    else
        lab_data_table_add(grid, "-");
    lab_data_table_add(grid, "%lld of %lld", (long long)lab_json_get_integer(row, "wins", 0),
                       (long long)lab_json_get_integer(row, "rounds", 0));
    lab_data_table_add(grid, "%lld", (long long)lab_json_get_integer(row, "tried", 0));
    lab_data_table_add(grid, "%s",
                       lab_json_get_true(row, "saved")          ? "saved"
                       : lab_json_get_true(row, "record_stays") ? "record kept"
                       : lab_json_get_true(row, "improved")     ? "not saved"
                                                                : "defaults kept");
}

void lab_report_tune_section(lab_report *report)
{
    lab_data_table grid;
    bool any_trials = false;
    if (!lab_report_has_kind(report, LAB_REPORT_INPUT_TUNE))
        return;
    lab_page_section(&report->page, "tuning", "Tuning");
    lab_page_text(
        &report->page, "lead",
        "Results of rung tune for this device. The final comparison interleaves the fastest candidate and the defaults. A ratio above 1 means that the candidate is faster; the table also has the rounds that it won. All values are measured.");
    lab_data_table_begin(&grid, 10, "llllrrrrrl",
                         (const char *[]){"m x n x k", "type", "kernel", "parameters", "GFLOPS", "defaults", "ratio",
                                          "won", "tried", "result"});
    for (int i = 0; i < report->input_count; i++)
        for (const lab_json_value *at = report->inputs[i].kind == LAB_REPORT_INPUT_TUNE ? report->inputs[i].rows->first
                                                                                        : NULL;
             at; at = at->next)
            add_search_row(&grid, at);
    lab_page_table(&report->page, "Results of rung tune", &grid);
    lab_data_table_free(&grid);
    for (int i = 0; i < report->input_count; i++)
        for (const lab_json_value *at = report->inputs[i].kind == LAB_REPORT_INPUT_TUNE ? report->inputs[i].rows->first
                                                                                        : NULL;
             at; at = at->next)
            any_trials = draw_trials(report, at) || any_trials;
    if (!any_trials)
        lab_page_text(&report->page, "soft", "No map of the candidates: the files do not contain them.");
}
