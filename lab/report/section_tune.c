/* SPDX-License-Identifier: Apache-2.0 */
/* section_tune.c - the results of rung tune, and heat maps of parameters. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 24, TRIALS_MIN = 4 };

/* ---- Heat maps ---- */

/* Reads the next "NAME=value" of a list. Returns the text after it, or NULL at the end. */
static const char *next_pair(const char *at, char name[LAB_HEAT_TEXT_BYTES], char value[LAB_HEAT_TEXT_BYTES])
{
    size_t length = strcspn(at, ","), equals = strcspn(at, "=");
    if (!*at)
        return NULL;
    name[0] = value[0] = '\0';
    if (equals < length) {
        snprintf(name, LAB_HEAT_TEXT_BYTES, "%.*s", (int)equals, at);
        snprintf(value, LAB_HEAT_TEXT_BYTES, "%.*s", (int)(length - equals - 1), at + equals + 1);
    }
    return at + length + (at[length] == ',');
}

static int value_index(const lab_heat_axis *parameter, const char *value)
{
    for (int i = 0; i < parameter->count; i++)
        if (strcmp(parameter->values[i], value) == 0)
            return i;
    return -1;
}

static void add_parameter_value(lab_heat_axis *list, int *count, const char *name, const char *value)
{
    int i = 0;
    while (i < *count && strcmp(list[i].name, name) != 0)
        i++;
    if (i == NAMES_MAX || !*name)
        return;
    if (i == *count)
        snprintf(list[(*count)++].name, LAB_HEAT_TEXT_BYTES, "%s", name);
    if (value_index(&list[i], value) < 0 && list[i].count < LAB_HEAT_VALUES_MAX)
        snprintf(list[i].values[list[i].count++], LAB_HEAT_TEXT_BYTES, "%s", value);
}

static int by_number(const void *a, const void *b)
{
    double x = strtod(a, NULL), y = strtod(b, NULL);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* Moves the two parameters with the most values to the front. */
static void sort_by_value_count(lab_heat_axis *list, int count)
{
    for (int index = 0; index < 2 && index < count; index++)
        for (int i = index + 1; i < count; i++)
            if (list[i].count > list[index].count) {
                lab_heat_axis other = list[index];
                list[index] = list[i];
                list[i] = other;
            }
}

/* Returns the index of the parameter's value in a list of parameters, or -1. */
static int index_in_list(const lab_heat_axis *parameter, const char *params)
{
    char name[LAB_HEAT_TEXT_BYTES], value[LAB_HEAT_TEXT_BYTES];
    for (const char *at = params; (at = next_pair(at, name, value)) != NULL;)
        if (strcmp(name, parameter->name) == 0)
            return value_index(parameter, value);
    return -1;
}

/* Returns the best GFLOPS for each pair of values, and lists all samples in the table. */
static lab_heat_map make_heat_map(const lab_heat_axis *x, const lab_heat_axis *y, const lab_heat_map_sample *tried,
                                  int count, lab_data_table *grid)
{
    lab_heat_map heat = {.x = x, .y = y};
    lab_data_table_begin(grid, 2, "lr", (const char *[]){"parameters", "GFLOPS"});
    for (int i = 0; i < count; i++) {
        int column = index_in_list(x, tried[i].params), row = index_in_list(y, tried[i].params);
        if (column >= 0 && row >= 0)
            heat.cells[row][column] = fmax(heat.cells[row][column], tried[i].gflops);
        lab_data_table_add(grid, "%s", tried[i].params);
        lab_data_table_add_number(grid, tried[i].gflops);
    }
    return heat;
}

void lab_report_heat_map(lab_report *report, const char *title, const char *slug, const char *caption,
                         const lab_heat_map_sample *tried, int count)
{
    lab_heat_axis *list = calloc(NAMES_MAX + 1, sizeof *list);
    int names = 0;
    char name[LAB_HEAT_TEXT_BYTES], value[LAB_HEAT_TEXT_BYTES];
    for (int i = 0; i < count && list; i++)
        for (const char *at = tried[i].params; (at = next_pair(at, name, value)) != NULL;)
            add_parameter_value(list, &names, name, value);
    if (list)
        sort_by_value_count(list, names);
    if (names >= 2 && list[0].count > 1) {
        lab_data_table grid;
        for (int i = 0; i < 2; i++)
            qsort(list[i].values, (size_t)list[i].count, LAB_HEAT_TEXT_BYTES, by_number);
        lab_heat_map heat = make_heat_map(&list[0], &list[1], tried, count, &grid);
        lab_page_figure(
            &report->page,
            &(lab_figure){
                .slug = slug,
                .title = title,
                .kind = LAB_FIGURE_MEASURED,
                .caption = caption,
                .description = "The best GFLOPS for each pair of values of the two parameters that vary most.",
                .draw = lab_draw_heat_map,
                .data = &heat,
                .grid = &grid});
        lab_data_table_free(&grid);
    }
    free(list);
}

/* ---- Searches ---- */

/* Draws the candidates of the winning kernel. Returns false if the file does not have enough of them. */
static bool draw_trials(lab_report *report, const lab_json_value *row)
{
    const lab_json_value *trials = lab_json_get(row, "trials");
    const char *kernel = lab_json_get_text(row, "kernel", ""), *dtype = lab_json_get_text(row, "dtype", "");
    lab_heat_map_sample *tried = calloc((size_t)trials->count + 1, sizeof *tried);
    lab_formatted problem = lab_json_problem(row);
    char title[300], slug[200];
    int count = 0;
    for (const lab_json_value *at = trials->kind == LAB_JSON_ARRAY ? trials->first : NULL; at && tried; at = at->next) {
        double ns = lab_json_get_number(at, "ns", 0);
        if (ns > 0 && strcmp(lab_json_get_text(at, "kernel", ""), kernel) == 0)
            tried[count++] = (lab_heat_map_sample){lab_json_get_text(at, "params", ""), lab_json_flops(row) / ns};
    }
    snprintf(title, sizeof title, "%.60s: candidates for %s, %.40s", kernel, problem.text, dtype);
    snprintf(slug, sizeof slug, "tune %.40s %s %.20s", kernel, problem.text, dtype);
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
    double ratio = lab_json_get_number(row, "challenger_ratio", 0);
    lab_data_table_add(grid, "%s", lab_json_problem(row).text);
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "dtype", ""));
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "kernel", ""));
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "params", ""));
    lab_data_table_add_number(grid, lab_json_get_number(row, "gflops", 0));
    lab_data_table_add_number(grid, lab_json_get_number(row, "default_gflops", 0));
    lab_data_table_add(grid, ratio > 0 ? "%.2f x" : "-", ratio);
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
        for (const lab_json_value *at = lab_report_first_row(report, i, LAB_REPORT_INPUT_TUNE); at; at = at->next)
            add_search_row(&grid, at);
    lab_page_table(&report->page, "Results of rung tune", &grid);
    lab_data_table_free(&grid);
    for (int i = 0; i < report->input_count; i++)
        for (const lab_json_value *at = lab_report_first_row(report, i, LAB_REPORT_INPUT_TUNE); at; at = at->next)
            any_trials = draw_trials(report, at) || any_trials;
    if (!any_trials)
        lab_page_text(&report->page, "soft", "No map of the candidates: the files do not contain them.");
}
