/* SPDX-License-Identifier: Apache-2.0 */
/* section_bench.c - the measured speeds: the ladder at one size, speed over the size, other shapes, the roofline, the
 * parts of a call, and parameters that were swept. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_GROUP_ROWS = 2, SWEEP_ROWS_MIN = 4 };

static bool has_call_time(const lab_result *row)
{
    return lab_json_get_number(row->fields, "call_wall_ns", 0) > 0;
}

/* Returns the fastest library without a warning, or the fastest kernel, or NULL if no row qualifies. */
static const lab_report_row *fastest(const lab_report_row_group *group, int start, int end, bool library)
{
    const lab_report_row *best = NULL;
    for (const lab_report_row *shown = group->rows + start; shown < group->rows + end; shown++) {
        bool has_warning = *lab_json_get_text(shown->row->fields, "doubt", "") != '\0';
        if (shown->is_library == library && !(library && has_warning) &&
            (!best || shown->row->gflops > best->row->gflops))
            best = shown;
    }
    return best;
}

void lab_report_group_figure(lab_report *report, const lab_report_row_group *group, const char *name, lab_figure figure)
{
    char slug[360];
    snprintf(slug, sizeof slug, "%s %s", name, group->title);
    figure.slug = slug;
    figure.kind = LAB_FIGURE_MEASURED;
    figure.context = group->title;
    lab_page_figure(&report->page, &figure);
}

/* ---- Bars ---- */

/* Bars for rows, as many as fit, and a table with all rows. */
typedef struct bar_chart {
    lab_bars bars;
    lab_data_table grid;
    int row_count;
} bar_chart_t;

static void begin_bar_chart(bar_chart_t *chart)
{
    *chart = (bar_chart_t){.bars.unit = "GFLOPS"};
    lab_data_table_begin(&chart->grid, 13, "lllrrrrrrrrll",
                         (const char *[]){"kernel", "parameters", "m x n x k", "threads", "GFLOPS", "median ms",
                                          "+-95 % ms", "least ms", "of best library", "of peak", "samples", "mode",
                                          "warning"});
}

static void fill_bar(const lab_report_row *shown, lab_bar *bar)
{
    const lab_result *row = shown->row;
    double median = (double)row->median_ns, spread = (double)row->ci95_ns;
    bool is_slow = strcmp(lab_json_get_text(row->fields, "mode", ""), "slow") == 0; /* a mode of the machine */
    *bar = (lab_bar){.value = row->gflops, .mark = shown->mark};
    snprintf(bar->label, sizeof bar->label, "%.110s%s", shown->label, is_slow ? ", slow mode" : "");
    if (spread > 0 && spread < median) {
        bar->low = row->gflops * (median / (median + spread));
        bar->high = row->gflops * (median / (median - spread));
    }
}

static void add_table_row(lab_data_table *grid, const lab_report_row *shown, double peak)
{
    const lab_result *row = shown->row;
    const char *library;
    double percent;
    int64_t samples = lab_json_get_integer(row->fields, "samples", 0);
    lab_result_best_library(row, &library, &percent);
    lab_data_table_add(grid, "%s", shown->is_library ? shown->label : row->kernel);
    lab_data_table_add(grid, "%s", *row->params ? row->params : "-");
    lab_data_table_add(grid, "%s", lab_result_problem(row).text);
    lab_data_table_add(grid, row->threads > 0 ? "%lld" : "-", (long long)row->threads);
    lab_data_table_add_number(grid, row->gflops);
    lab_data_table_add_number(grid, (double)row->median_ns * 1e-6);
    lab_data_table_add_number(grid, samples > 1 ? (double)row->ci95_ns * 1e-6 : 0); /* one sample has no spread */
    lab_data_table_add_number(grid, (double)row->min_ns * 1e-6);
    lab_data_table_add(grid, percent > 0 ? "%.0f %%" : "-", percent);
    lab_data_table_add(grid, peak > 0 ? "%.0f %%" : "-", 100 * (row->gflops / peak));
    lab_data_table_add(grid, "%lld", (long long)samples);
    lab_data_table_add(grid, "%s", lab_json_get_text(row->fields, "mode", "-"));
    lab_data_table_add(grid, "%s", lab_json_get_text(row->fields, "doubt", ""));
}

/* Adds a row to the table, and a bar with a heading ("" for none) if there is room. */
static void add_row(const lab_report *report, const lab_report_row_group *group, const lab_report_row *shown,
                    const char *heading, bar_chart_t *chart)
{
    add_table_row(&chart->grid, shown, lab_report_peak_gflops(report, group, shown->row));
    chart->row_count++;
    if (chart->bars.count == LAB_BARS_MAX)
        return;
    lab_bar *bar = &chart->bars.list[chart->bars.count++];
    fill_bar(shown, bar);
    snprintf(bar->heading, sizeof bar->heading, "%s", heading);
}

static void add_limit(lab_bars *bars, const char *what, double value, lab_chart_colour colour)
{
    if (!(value > 0) || bars->limit_count == LAB_CEILINGS_MAX)
        return;
    lab_limit_line *limit = &bars->limits[bars->limit_count++];
    snprintf(limit->label, sizeof limit->label, "%.80s %s", what, lab_short_number(value).text);
    limit->value = value;
    limit->colour = colour;
}

/* Writes the result of the chart as a sentence, for its caption and for screen readers. */
static void describe_fastest(const lab_report *report, const lab_report_row_group *group, const lab_report_row *best,
                             char *text, size_t capacity)
{
    const char *library;
    double percent;
    char beside[160] = "", of_peak[64] = "";
    if (!best) {
        snprintf(text, capacity, "Only libraries were timed.");
        return;
    }
    double peak = lab_report_peak_gflops(report, group, best->row);
    if (lab_result_best_library(best->row, &library, &percent))
        snprintf(beside, sizeof beside, ", %.0f %% of %.60s", percent, library);
    if (peak > 0)
        snprintf(of_peak, sizeof of_peak, ", %.0f %% of the measured peak", 100 * (best->row->gflops / peak));
    snprintf(text, capacity, "The fastest is %.80s with %s GFLOPS%s%s.", best->label,
             lab_short_number(best->row->gflops).text, beside, of_peak);
}

static void draw_ladder_chart(lab_report *report, const lab_report_row_group *group)
{
    int start = group->main_start, end = start + group->main_count;
    const lab_report_row *library = fastest(group, start, end, true);
    char title[400], caption[600], says[400];
    bar_chart_t chart;
    begin_bar_chart(&chart);
    for (int i = start; i < end; i++)
        add_row(report, group, &group->rows[i], "", &chart);
    add_limit(&chart.bars, "measured peak", lab_report_median_peak(report, group, start, end), LAB_COLOUR_roof);
    if (library) {
        snprintf(says, sizeof says, "best library: %.60s", library->label);
        add_limit(&chart.bars, says, library->row->gflops, library->mark.colour);
    }
    describe_fastest(report, group, fastest(group, start, end, false), says, sizeof says);
    snprintf(title, sizeof title, "%s at %s", has_call_time(group->first) ? "Whole calls" : "The ladder",
             lab_result_problem(group->rows[start].row).text);
    snprintf(
        caption, sizeof caption,
        "%s%s Longer bars are faster. Filled bars are rung's kernels, hollow bars are libraries; whiskers are 95 %% intervals.",
        says, lab_omission_note(chart.bars.count, chart.row_count).text);
    lab_report_group_figure(report, group, "ladder",
                            (lab_figure){.title = title,
                                         .caption = caption,
                                         .description = says,
                                         .draw = lab_draw_bars,
                                         .data = &chart.bars,
                                         .grid = &chart.grid});
    lab_data_table_free(&chart.grid);
}

/* Draws the problems that are not square, each with a heading. */
static void draw_shape_chart(lab_report *report, const lab_report_row_group *group)
{
    bar_chart_t chart;
    begin_bar_chart(&chart);
    for (int start = 0, end; start < group->count; start = end) {
        lab_formatted problem = lab_result_problem(group->rows[start].row);
        end = lab_report_problem_end(group, start);
        if (lab_result_is_square(group->rows[start].row) || start == group->main_start)
            continue;
        for (int i = start; i < end; i++)
            add_row(report, group, &group->rows[i], i == start ? problem.text : "", &chart);
    }
    if (chart.bars.count > 0)
        lab_report_group_figure(
            report, group, "shapes",
            (lab_figure){
                .title = "Other shapes",
                .caption =
                    chart.bars.count < chart.row_count
                        ? "Shapes with few rows or a short k, as in neural networks. The chart shows some of them; the table has all."
                        : "Shapes with few rows or a short k, as in neural networks. Each group of bars is one m x n x k.",
                .description = "GFLOPS of each kernel and library for matrices that are not square.",
                .draw = lab_draw_bars,
                .data = &chart.bars,
                .grid = &chart.grid});
    lab_data_table_free(&chart.grid);
}

/* ---- Copying and computing ---- */

static void add_stacked_bar(const lab_report_row *shown, lab_stacked_bar *bar, lab_data_table *grid)
{
    const lab_result *row = shown->row;
    bool is_call = has_call_time(row);
    const char *names[] = {is_call ? "up_ns" : "h2d_ns", "kernel_ns", is_call ? "down_ns" : "d2h_ns",
                           is_call ? "host_ns" : ""};
    lab_formatted problem = lab_result_problem(row);
    double sum = 0;
    if (lab_result_is_square(row))
        snprintf(problem.text, sizeof problem.text, "%lld", (long long)row->m);
    snprintf(bar->label, sizeof bar->label, "%.50s: %.72s", problem.text, shown->label);
    lab_data_table_add(grid, "%s", bar->label);
    for (int i = 0; i < LAB_STACKED_PARTS_MAX; i++) {
        bar->parts[i] = fmax(lab_json_get_number(row->fields, names[i], 0), 0) * 1e-6;
        sum += bar->parts[i];
        lab_data_table_add_number(grid, bar->parts[i]);
    }
    double wall = is_call ? lab_json_get_number(row->fields, "call_wall_ns", 0) * 1e-6 : sum;
    snprintf(bar->total, sizeof bar->total, "%s ms", lab_short_number(wall).text);
    lab_data_table_add_number(grid, wall);
    lab_data_table_add(grid, is_call ? "%.0f %%" : "-", lab_json_get_number(row->fields, "hidden_percent", 0));
}

/* Draws the fastest kernel of each problem and all calls of rung_gemm. */
static void draw_time_parts(lab_report *report, const lab_report_row_group *group)
{
    lab_stacked_bars parts = {.names = {"to the device", "multiplying", "back", "packing on the host"}};
    lab_data_table grid;
    if (strncmp(group->first->device, "cpu", 3) == 0)
        return;
    lab_data_table_begin(&grid, 7, "lrrrrrr",
                         (const char *[]){"problem and kernel", "to the device ms", "multiplying ms", "back ms",
                                          "packing ms", "all ms", "copying hidden"});
    for (int start = 0, end; start < group->count; start = end) {
        end = lab_report_problem_end(group, start);
        const lab_report_row *best = fastest(group, start, end, false);
        for (int i = start; i < end; i++)
            if (parts.count < LAB_BARS_MAX && (has_call_time(group->rows[i].row) || &group->rows[i] == best) &&
                lab_json_get_number(group->rows[i].row->fields, "kernel_ns", 0) > 0)
                add_stacked_bar(&group->rows[i], &parts.list[parts.count++], &grid);
    }
    if (parts.count > 0)
        lab_report_group_figure(
            report, group, "split",
            (lab_figure){
                .title = "Copying and computing",
                .caption =
                    "Parts of a multiply of matrices in host memory, as fractions of their sum; the total time is beside each bar. In a call of rung_gemm the parts may overlap, so the total may be less than the sum.",
                .description = "Fractions of copying to the device, multiplying, copying back and packing.",
                .draw = lab_draw_stacked_bars,
                .data = &parts,
                .grid = &grid});
    lab_data_table_free(&grid);
}

/* ---- Parameters ---- */

/* Draws a heat map of each kernel that ran with several parameters. */
static void draw_sweeps(lab_report *report, const lab_report_row_group *group)
{
    int start = group->main_start, end = start + group->main_count;
    lab_heat_map_sample *tried = calloc((size_t)group->main_count, sizeof *tried);
    for (int from = start, to; from < end && tried; from = to) {
        const char *kernel = group->rows[from].row->kernel;
        char title[160], slug[400];
        int count = 0;
        for (to = from; to < end && strcmp(group->rows[to].row->kernel, kernel) == 0; to++)
            tried[count++] = (lab_heat_map_sample){group->rows[to].row->params, group->rows[to].row->gflops};
        snprintf(title, sizeof title, "Parameters of %.100s", kernel);
        snprintf(slug, sizeof slug, "heat %.60s %s", kernel, group->title);
        if (count >= SWEEP_ROWS_MIN)
            lab_report_heat_map(report, title, slug,
                                "The best GFLOPS for each pair of values; the overall best has a frame.", tried, count);
    }
    free(tried);
}

/* ---- The section ---- */

static bool is_small_group(const lab_report_row_group *group)
{
    return group->count <= SMALL_GROUP_ROWS;
}

static void write_group(lab_report *report, const lab_report_row_group *group, int number)
{
    char id[32];
    snprintf(id, sizeof id, "measured-%d", number + 1);
    lab_page_section(&report->page, id, group->title);
    lab_page_text(&report->page, "lead", "%.120s",
                  lab_json_get_text(group->input->results.machine, "title", group->first->device));
    draw_ladder_chart(report, group);
    lab_report_draw_size_chart(report, group);
    draw_shape_chart(report, group);
    if (!has_call_time(group->first)) /* the time of a call includes copies */
        lab_report_draw_roofline_chart(report, group);
    draw_time_parts(report, group);
    draw_sweeps(report, group);
}

/* Draws the groups of one or two rows in one chart. */
static void write_small_groups(lab_report *report)
{
    bar_chart_t chart;
    char caption[240];
    begin_bar_chart(&chart);
    for (int i = 0; i < report->group_count; i++) {
        const lab_report_row_group *group = &report->groups[i];
        for (int j = 0; j < group->count && is_small_group(group); j++) {
            char heading[LAB_LABEL_MAX] = "";
            if (j == 0)
                snprintf(heading, sizeof heading, "%.70s, %s", group->title,
                         lab_result_problem(group->rows[j].row).text);
            add_row(report, group, &group->rows[j], heading, &chart);
        }
    }
    snprintf(caption, sizeof caption,
             "Filled bars are rung's kernels, hollow bars are libraries; whiskers are 95 %% intervals.%s",
             lab_omission_note(chart.bars.count, chart.row_count).text);
    if (chart.bars.count > 0) {
        lab_page_section(&report->page, "measured-others", "Types and single problems");
        lab_page_figure(&report->page, &(lab_figure){.slug = "types",
                                                     .title = "One or two rows each",
                                                     .kind = LAB_FIGURE_MEASURED,
                                                     .caption = caption,
                                                     .description = "GFLOPS of single rows, by type and problem.",
                                                     .draw = lab_draw_bars,
                                                     .data = &chart.bars,
                                                     .grid = &chart.grid});
    }
    lab_data_table_free(&chart.grid);
}

void lab_report_bench_section(lab_report *report)
{
    for (int i = 0; i < report->group_count; i++)
        if (!is_small_group(&report->groups[i]))
            write_group(report, &report->groups[i], i);
    write_small_groups(report);
}
