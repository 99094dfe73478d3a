/* SPDX-License-Identifier: Apache-2.0 */
/* report_tune.c - what rung tune tried and found, and heat maps of parameters. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 24, VALUES_MAX = 24, TEXT_MAX = 32, TRIED_LEAST = 4 };

/* ---- Heat ------------------------------------------------------------------------------------------- */

/* A parameter and the values that it was given. */
typedef struct parameter {
    char name[TEXT_MAX], values[VALUES_MAX][TEXT_MAX];
    int count;
} parameter_t;

/* The next "NAME=value" of a list; NULL behind the last. */
static const char *next_pair(const char *at, char name[TEXT_MAX], char value[TEXT_MAX])
{
    size_t length = strcspn(at, ","), equals = strcspn(at, "=");
    if (!*at)
        return NULL;
    name[0] = value[0] = '\0';
    if (equals < length) {
        snprintf(name, TEXT_MAX, "%.*s", (int)equals, at);
        snprintf(value, TEXT_MAX, "%.*s", (int)(length - equals - 1), at + equals + 1);
    }
    return at + length + (at[length] == ',');
}

static bool find_value(const char *params, const char *wanted, char value[TEXT_MAX])
{
    char name[TEXT_MAX];
    for (const char *at = params; (at = next_pair(at, name, value)) != NULL;)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

static int place_of(const parameter_t *parameter, const char *value)
{
    for (int i = 0; i < parameter->count; i++)
        if (strcmp(parameter->values[i], value) == 0)
            return i;
    return -1;
}

static void note_value(parameter_t *list, int *count, const char *name, const char *value)
{
    int i = 0;
    while (i < *count && strcmp(list[i].name, name) != 0)
        i++;
    if (i == NAMES_MAX || !*name)
        return;
    if (i == *count)
        snprintf(list[(*count)++].name, TEXT_MAX, "%s", name);
    if (place_of(&list[i], value) < 0 && list[i].count < VALUES_MAX)
        snprintf(list[i].values[list[i].count++], TEXT_MAX, "%s", value);
}

static int by_number(const void *a, const void *b)
{
    double x = strtod(a, NULL), y = strtod(b, NULL);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* The two that have the most values go to the front. */
static void put_widest_first(parameter_t *list, int count)
{
    for (int place = 0; place < 2 && place < count; place++)
        for (int i = place + 1; i < count; i++)
            if (list[i].count > list[place].count) {
                parameter_t other = list[place];
                list[place] = list[i];
                list[i] = other;
            }
}

static void fill_cells(const parameter_t *x, const parameter_t *y, const lab_tried *tried, int count, double *cells,
                       lab_grid *grid)
{
    char value[TEXT_MAX];
    for (int i = 0; i < count; i++) {
        int column = find_value(tried[i].params, x->name, value) ? place_of(x, value) : -1;
        int row = find_value(tried[i].params, y->name, value) ? place_of(y, value) : -1;
        if (column >= 0 && row >= 0)
            cells[row * x->count + column] = fmax(cells[row * x->count + column], tried[i].gflops);
        lab_grid_add(grid, "%s", tried[i].params);
        lab_grid_number(grid, tried[i].gflops);
    }
}

static void draw_heat(lab_report *report, lab_figure *figure, parameter_t *list, const lab_tried *tried, int count)
{
    parameter_t *x = &list[0], *y = &list[1];
    const char *x_values[VALUES_MAX], *y_values[VALUES_MAX];
    double cells[VALUES_MAX * VALUES_MAX] = {0};
    lab_grid grid;
    qsort(x->values, (size_t)x->count, TEXT_MAX, by_number);
    qsort(y->values, (size_t)y->count, TEXT_MAX, by_number);
    for (int i = 0; i < x->count; i++)
        x_values[i] = x->values[i];
    for (int i = 0; i < y->count; i++)
        y_values[i] = y->values[i];
    lab_grid_begin(&grid, 2, "lr", (const char *[]){"parameters", "GFLOPS"});
    fill_cells(x, y, tried, count, cells, &grid);
    lab_heat heat = {.x_name = x->name,
                     .y_name = y->name,
                     .x_values = x_values,
                     .y_values = y_values,
                     .x_count = x->count,
                     .y_count = y->count,
                     .cells = cells};
    figure->data = &heat;
    figure->grid = &grid;
    lab_page_figure(&report->page, figure);
    lab_grid_free(&grid);
}

void lab_report_heat(lab_report *report, const char *title, const char *slug, const char *caption,
                     const lab_tried *tried, int count)
{
    parameter_t *list = calloc(NAMES_MAX + 1, sizeof *list);
    int names = 0;
    char name[TEXT_MAX], value[TEXT_MAX];
    for (int i = 0; i < count && list; i++)
        for (const char *at = tried[i].params; (at = next_pair(at, name, value)) != NULL;)
            note_value(list, &names, name, value);
    if (list && names >= 2) {
        put_widest_first(list, names);
        lab_figure figure = {.slug = slug,
                             .title = title,
                             .kind = LAB_MEASURED,
                             .caption = caption,
                             .description = "The best GFLOPS for each pair of values of the two parameters that vary "
                                            "most.",
                             .draw = lab_draw_heat};
        if (list[0].count > 1)
            draw_heat(report, &figure, list, tried, count);
    }
    free(list);
}

/* ---- Searches --------------------------------------------------------------------------------------- */

/* What was timed of the kernel that won, where the file holds it. */
static bool draw_trials(lab_report *report, const lab_value *row)
{
    const lab_value *trials = lab_field(row, "trials");
    const char *kernel = lab_text(row, "kernel", "");
    int64_t m = lab_integer(row, "m", 0), n = lab_integer(row, "n", 0), k = lab_integer(row, "k", 0);
    lab_tried *tried = calloc((size_t)trials->count + 1, sizeof *tried);
    char title[300], problem[96], slug[200];
    int count = 0;
    for (const lab_value *at = trials->kind == LAB_ARRAY ? trials->first : NULL; at && tried; at = at->next) {
        double ns = lab_number(at, "ns", 0);
        if (ns > 0 && strcmp(lab_text(at, "kernel", ""), kernel) == 0)
            tried[count++] = (lab_tried){lab_text(at, "params", ""), lab_flops(m, n, k) / ns};
    }
    lab_write_problem(m, n, k, problem, sizeof problem);
    snprintf(title, sizeof title, "%.60s: what was tried for %s, %.40s", kernel, problem, lab_text(row, "dtype", ""));
    snprintf(slug, sizeof slug, "tune %.40s %s %.20s", kernel, problem, lab_text(row, "dtype", ""));
    if (count >= TRIED_LEAST)
        lab_report_heat(report, title, slug,
                        "The best of what was tried for each pair of values; the best of all has an edge. Empty: not "
                        "tried, or refused.",
                        tried, count);
    free(tried);
    return count >= TRIED_LEAST;
}

static void add_search(lab_grid *grid, const lab_value *row)
{
    char problem[96];
    double ratio = lab_number(row, "challenger_ratio", 0);
    lab_write_problem(lab_integer(row, "m", 0), lab_integer(row, "n", 0), lab_integer(row, "k", 0), problem,
                      sizeof problem);
    lab_grid_add(grid, "%s", problem);
    lab_grid_add(grid, "%s", lab_text(row, "dtype", ""));
    lab_grid_add(grid, "%s", lab_text(row, "kernel", ""));
    lab_grid_add(grid, "%s", lab_text(row, "params", ""));
    lab_grid_number(grid, lab_number(row, "gflops", 0));
    lab_grid_number(grid, lab_number(row, "default_gflops", 0));
    if (ratio > 0)
        lab_grid_add(grid, "%.2f x", ratio);
    else
        lab_grid_add(grid, "-");
    lab_grid_add(grid, "%lld of %lld", (long long)lab_integer(row, "wins", 0),
                 (long long)lab_integer(row, "rounds", 0));
    lab_grid_add(grid, "%lld", (long long)lab_integer(row, "tried", 0));
    lab_grid_add(grid, "%s",
                 lab_is_true(row, "saved")          ? "saved"
                 : lab_is_true(row, "record_stays") ? "the record stays"
                 : lab_is_true(row, "improved")     ? "not saved"
                                                    : "the defaults stay");
}

void lab_report_tune(lab_report *report)
{
    lab_grid grid;
    bool any_trials = false;
    if (!lab_has_kind(report, LAB_INPUT_TUNE))
        return;
    lab_page_section(&report->page, "tuning", "Tuning");
    lab_page_text(&report->page, "lead",
                  "What rung tune found for this device. The fastest other and the defaults were timed in turn in "
                  "the finals: their ratio is above 1 if the other is faster, and it won so many rounds. All of it "
                  "is measured.");
    lab_grid_begin(&grid, 10, "llllrrrrrl",
                   (const char *[]){"m x n x k", "type", "kernel", "parameters", "GFLOPS", "the defaults", "ratio",
                                    "won", "tried", "result"});
    for (int i = 0; i < report->input_count; i++)
        for (const lab_value *at = report->inputs[i].kind == LAB_INPUT_TUNE ? report->inputs[i].rows->first : NULL; at;
             at = at->next)
            add_search(&grid, at);
    lab_page_table(&report->page, "What rung tune found", &grid);
    lab_grid_free(&grid);
    for (int i = 0; i < report->input_count; i++)
        for (const lab_value *at = report->inputs[i].kind == LAB_INPUT_TUNE ? report->inputs[i].rows->first : NULL; at;
             at = at->next)
            any_trials = draw_trials(report, at) || any_trials;
    if (!any_trials)
        lab_page_text(&report->page, "soft",
                      "The files do not hold what was tried one by one, so there is no map of it.");
}
