/* SPDX-License-Identifier: Apache-2.0 */
/* section_bench.c - what was measured: the ladder at one size, speed over the size, other shapes, the roofline, what a
 * call consists of, and parameters that were swept. */
#include "report/report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"

enum { BARS_MAX = 40, SMALL_GROUP_ROWS = 2, SWEEP_ROWS_MIN = 4 };

double lab_report_percent_of(double part, double whole)
{
    return whole > 0 ? 100 * (part / whole) : 0;
}

bool lab_report_is_square(const lab_result *row)
{
    return row->m == row->n && row->n == row->k;
}

static bool same_problem(const lab_result *a, const lab_result *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k;
}

static bool is_whole_call(const lab_result *row)
{
    return lab_json_get_number(row->fields, "call_wall_ns", 0) > 0;
}

int lab_report_problem_end(const lab_report_row_group *group, int start)
{
    int end = start + 1;
    while (end < group->count && same_problem(group->rows[start].row, group->rows[end].row))
        end++;
    return end;
}

static bool has_warning(const lab_report_row *shown)
{
    return *lab_json_get_text(shown->row->fields, "doubt", "") != '\0';
}

/* The fastest library that is not in doubt, or the fastest kernel; NULL if there is none. */
static const lab_report_row *fastest(const lab_report_row_group *group, int start, int end, bool library)
{
    const lab_report_row *best = NULL;
    for (int i = start; i < end; i++)
        if (group->rows[i].is_library == library && !(library && has_warning(&group->rows[i])) &&
            (!best || group->rows[i].row->gflops > best->row->gflops))
            best = &group->rows[i];
    return best;
}

/* The median of what the probes beside these rows said. */
double lab_report_median_peak(const lab_report *report, const lab_report_row_group *group, int start, int end)
{
    double peaks[64];
    int count = 0;
    for (int i = start; i < end && count < 64; i++) {
        double peak = lab_report_peak_gflops(report, group, group->rows[i].row);
        if (peak > 0)
            peaks[count++] = peak;
    }
    lab_sort_doubles(peaks, count);
    return count > 0 ? peaks[count / 2] : 0;
}

/* ---- Bars ---- */

static void fill_bar(const lab_report_row *shown, lab_bar *bar)
{
    const lab_result *row = shown->row;
    double median = (double)row->median_ns, spread = (double)row->ci95_ns;
    *bar = (lab_bar){.value = row->gflops, .mark = shown->mark};
    bool is_slow = strcmp(lab_json_get_text(row->fields, "mode", ""), "slow") ==
                   0; /* the machine was, not the kernel */
    snprintf(bar->label, sizeof bar->label, "%.110s%s", shown->label, is_slow ? ", slow mode" : "");
    if (spread > 0 && spread < median) {
        bar->low = row->gflops * (median / (median + spread));
        bar->high = row->gflops * (median / (median - spread));
    }
}

static void begin_row_table(lab_data_table *grid)
{
    lab_data_table_begin(grid, 13, "lllrrrrrrrrll",
                         (const char *[]){"kernel", "parameters", "m x n x k", "threads", "GFLOPS", "median ms",
                                          "+-95 % ms", "least ms", "of best library", "of peak", "samples", "mode",
                                          "warning"});
}

static void add_row(lab_data_table *grid, const lab_report_row *shown, double peak)
{
    const lab_result *row = shown->row;
    const char *library;
    double percent;
    char problem[96];
    lab_format_problem(row->m, row->n, row->k, problem, sizeof problem);
    lab_data_table_add(grid, "%s", shown->is_library ? shown->label : row->kernel);
    lab_data_table_add(grid, "%s", *row->params ? row->params : "-");
    lab_data_table_add(grid, "%s", problem);
    if (row->threads > 0)
        lab_data_table_add(grid, "%lld", (long long)row->threads);
    else
        lab_data_table_add(grid, "-");
    lab_data_table_add_number(grid, row->gflops);
    lab_data_table_add_number(grid, (double)row->median_ns * 1e-6);
    if (lab_json_get_integer(row->fields, "samples", 0) > 1)
        lab_data_table_add_number(grid, (double)row->ci95_ns * 1e-6);
    else
        lab_data_table_add(grid, "-"); /* one sample has no spread */
    lab_data_table_add_number(grid, (double)row->min_ns * 1e-6);
    if (lab_result_best_library(row, &library, &percent))
        lab_data_table_add(grid, "%.0f %%", percent);
    else
        lab_data_table_add(grid, "-");
    if (peak > 0)
        lab_data_table_add(grid, "%.0f %%", lab_report_percent_of(row->gflops, peak));
    else
        lab_data_table_add(grid, "-");
    lab_data_table_add(grid, "%lld", (long long)lab_json_get_integer(row->fields, "samples", 0));
    lab_data_table_add(grid, "%s", lab_json_get_text(row->fields, "mode", "-"));
    lab_data_table_add(grid, "%s", lab_json_get_text(row->fields, "doubt", ""));
}

static void add_limit(lab_bars *bars, const char *what, double value, lab_chart_colour colour)
{
    char number[32];
    if (!(value > 0) || bars->limit_count == LAB_CEILINGS_MAX)
        return;
    lab_limit_line *limit = &bars->limits[bars->limit_count++];
    lab_format_short(value, number, sizeof number);
    snprintf(limit->label, sizeof limit->label, "%.80s %s", what, number);
    limit->value = value;
    limit->colour = colour;
}

/* What the picture says, in words: for a caption, and for those who do not see it. */
static void describe_fastest(const lab_report_row *best, double peak, char *text, size_t capacity)
{
    const char *library;
    double percent;
    char value[32], beside[160] = "", of_peak[64] = "";
    if (!best) {
        snprintf(text, capacity, "Only libraries were timed.");
        return;
    }
    lab_format_short(best->row->gflops, value, sizeof value);
    if (lab_result_best_library(best->row, &library, &percent))
        snprintf(beside, sizeof beside, ", %.0f %% of %.60s", percent, library);
    if (peak > 0)
        snprintf(of_peak, sizeof of_peak, ", %.0f %% of the measured peak",
                 lab_report_percent_of(best->row->gflops, peak));
    snprintf(text, capacity, "The fastest is %.80s with %s GFLOPS%s%s.", best->label, value, beside, of_peak);
}

static void draw_ladder_chart(lab_report *report, const lab_report_row_group *group)
{
    int start = group->main_start, end = start + group->main_count,
        drawn = group->main_count < BARS_MAX ? group->main_count : BARS_MAX;
    const lab_report_row *library = fastest(group, start, end, true), *best = fastest(group, start, end, false);
    double peak = lab_report_median_peak(report, group, start, end);
    char problem[96], title[400], caption[600], says[400], more[120] = "", slug[360];
    lab_bars bars = {.unit = "GFLOPS", .count = drawn, .list = calloc((size_t)drawn, sizeof(lab_bar))};
    lab_data_table grid;
    begin_row_table(&grid);
    for (int i = start; i < end; i++)
        add_row(&grid, &group->rows[i], lab_report_peak_gflops(report, group, group->rows[i].row));
    for (int i = 0; i < drawn && bars.list; i++)
        fill_bar(&group->rows[start + i], &bars.list[i]);
    add_limit(&bars, "measured peak", peak, LAB_COLOUR_roof);
    if (library) {
        snprintf(says, sizeof says, "best library: %.60s", library->label);
        add_limit(&bars, says, library->row->gflops, library->mark.colour);
    }
    lab_format_problem(group->rows[start].row->m, group->rows[start].row->n, group->rows[start].row->k, problem,
                       sizeof problem);
    describe_fastest(best, best ? lab_report_peak_gflops(report, group, best->row) : 0, says, sizeof says);
    if (drawn < group->main_count)
        snprintf(more, sizeof more, " The chart shows %d of %d; the table has all.", drawn, group->main_count);
    snprintf(title, sizeof title, "%s at %s", is_whole_call(group->first) ? "Whole calls" : "The ladder", problem);
    snprintf(
        caption, sizeof caption,
        "%s%s Longer bars are faster. Filled bars are rung's kernels, hollow bars are libraries; whiskers are 95 %% intervals.",
        says, more);
    snprintf(slug, sizeof slug, "ladder %s", group->title);
    if (bars.list)
        lab_page_figure(&report->page, &(lab_figure){.slug = slug,
                                                     .title = title,
                                                     .kind = LAB_FIGURE_MEASURED,
                                                     .context = group->title,
                                                     .caption = caption,
                                                     .description = says,
                                                     .draw = lab_draw_bars,
                                                     .data = &bars,
                                                     .grid = &grid});
    lab_data_table_free(&grid);
    free(bars.list);
}

/* Shapes that are no squares, a heading each. */
static void draw_shape_chart(lab_report *report, const lab_report_row_group *group)
{
    lab_bars bars = {.unit = "GFLOPS", .list = calloc(BARS_MAX, sizeof(lab_bar))};
    lab_data_table grid;
    char slug[360];
    int omitted_count = 0;
    begin_row_table(&grid);
    for (int start = 0, end; start < group->count && bars.list; start = end) {
        end = lab_report_problem_end(group, start);
        if (lab_report_is_square(group->rows[start].row) || start == group->main_start)
            continue;
        for (int i = start; i < end; i++) {
            add_row(&grid, &group->rows[i], lab_report_peak_gflops(report, group, group->rows[i].row));
            if (bars.count == BARS_MAX) {
                omitted_count++;
                continue;
            }
            lab_bar *bar = &bars.list[bars.count++];
            fill_bar(&group->rows[i], bar);
            if (i == start)
                lab_format_problem(group->rows[i].row->m, group->rows[i].row->n, group->rows[i].row->k, bar->heading,
                                   sizeof bar->heading);
        }
    }
    snprintf(slug, sizeof slug, "shapes %s", group->title);
    if (bars.count > 0)
        lab_page_figure(
            &report->page,
            &(lab_figure){
                .slug = slug,
                .title = "Other shapes",
                .kind = LAB_FIGURE_MEASURED,
                .context = group->title,
                .caption =
                    omitted_count
                        ? "Shapes with few rows or a short k, as in neural networks. The chart shows some of them; the table has all."
                        : "Shapes with few rows or a short k, as in neural networks. Each group of bars is one m x n x k.",
                .description = "GFLOPS of each kernel and library for matrices that are not square.",
                .draw = lab_draw_bars,
                .data = &bars,
                .grid = &grid});
    lab_data_table_free(&grid);
    free(bars.list);
}

/* ---- Copying and computing ---- */

static void fill_parts(const lab_report_row *shown, lab_stacked_bar *bar, lab_data_table *grid)
{
    const lab_json_value *fields = shown->row->fields;
    bool call = is_whole_call(shown->row);
    const char *names[] = {call ? "up_ns" : "h2d_ns", "kernel_ns", call ? "down_ns" : "d2h_ns", call ? "host_ns" : ""};
    char problem[96], total[32];
    double sum = 0;
    lab_format_problem(shown->row->m, shown->row->n, shown->row->k, problem, sizeof problem);
    if (lab_report_is_square(shown->row))
        snprintf(problem, sizeof problem, "%lld", (long long)shown->row->m);
    snprintf(bar->label, sizeof bar->label, "%.50s: %.72s", problem, shown->label);
    lab_data_table_add(grid, "%s", bar->label);
    for (int i = 0; i < LAB_STACKED_PARTS_MAX; i++) {
        bar->parts[i] = fmax(lab_json_get_number(fields, names[i], 0), 0) * 1e-6;
        sum += bar->parts[i];
        lab_data_table_add_number(grid, bar->parts[i]);
    }
    double wall = call ? lab_json_get_number(fields, "call_wall_ns", 0) * 1e-6 : sum;
    lab_format_short(wall, total, sizeof total);
    snprintf(bar->total, sizeof bar->total, "%s ms", total);
    lab_data_table_add_number(grid, wall);
    if (call)
        lab_data_table_add(grid, "%.0f %%", lab_json_get_number(fields, "hidden_percent", 0));
    else
        lab_data_table_add(grid, "-");
}

/* For each problem the fastest kernel, and every way in which rung_gemm was called. */
static void draw_time_parts(lab_report *report, const lab_report_row_group *group)
{
    lab_stacked_bars parts = {.names = {"to the device", "multiplying", "back", "packing on the host"},
                              .name_count = LAB_STACKED_PARTS_MAX,
                              .list = calloc(BARS_MAX, sizeof(lab_stacked_bar))};
    lab_data_table grid;
    char slug[360];
    lab_data_table_begin(&grid, 7, "lrrrrrr",
                         (const char *[]){"problem and kernel", "to the device ms", "multiplying ms", "back ms",
                                          "packing ms", "all ms", "copying hidden"});
    for (int start = 0, end; start < group->count && parts.list; start = end) {
        end = lab_report_problem_end(group, start);
        const lab_report_row *best = fastest(group, start, end, false);
        for (int i = start; i < end; i++)
            if (parts.count < BARS_MAX && (is_whole_call(group->rows[i].row) || &group->rows[i] == best) &&
                lab_json_get_number(group->rows[i].row->fields, "kernel_ns", 0) > 0)
                fill_parts(&group->rows[i], &parts.list[parts.count++], &grid);
    }
    snprintf(slug, sizeof slug, "split %s", group->title);
    if (parts.count > 0 && strncmp(group->first->device, "cpu", 3) != 0)
        lab_page_figure(
            &report->page,
            &(lab_figure){
                .slug = slug,
                .title = "Copying and computing",
                .kind = LAB_FIGURE_MEASURED,
                .context = group->title,
                .caption =
                    "Parts of a multiply of matrices in host memory, as fractions of their sum; the total time is beside each bar. In a call of rung_gemm the parts may overlap, so the total may be less than the sum.",
                .description = "Fractions of copying to the device, multiplying, copying back and packing.",
                .draw = lab_draw_stacked_bars,
                .data = &parts,
                .grid = &grid});
    lab_data_table_free(&grid);
    free(parts.list);
}

/* ---- Sweeps ---- */

/* Parameters of a kernel that were tried side by side. */
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

/* ---- All of it ---- */

static bool is_small_group(const lab_report_row_group *group)
{
    return group->count <= SMALL_GROUP_ROWS;
}

static void write_group(lab_report *report, const lab_report_row_group *group, int number)
{
    char id[32];
    snprintf(id, sizeof id, "measured-%d", number + 1);
    lab_page_section(&report->page, id, group->title);
    lab_page_text(&report->page, "lead", "%s", group->machine_title);
    draw_ladder_chart(report, group);
    lab_report_draw_size_chart(report, group);
    draw_shape_chart(report, group);
    if (!is_whole_call(group->first)) /* their time is not the processor's alone */
        lab_report_draw_roofline_chart(report, group);
    draw_time_parts(report, group);
    draw_sweeps(report, group);
}

/* Groups of a row or two share a picture: types beside each other. */
static void write_small_groups(lab_report *report)
{
    lab_bars bars = {.unit = "GFLOPS", .list = calloc(BARS_MAX, sizeof(lab_bar))};
    lab_data_table grid;
    char caption[240], more[100] = "";
    int all = 0;
    begin_row_table(&grid);
    for (int i = 0; i < report->group_count && bars.list; i++) {
        const lab_report_row_group *group = &report->groups[i];
        for (int j = 0; j < group->count && is_small_group(group); j++, all++) {
            add_row(&grid, &group->rows[j], lab_report_peak_gflops(report, group, group->rows[j].row));
            if (bars.count == BARS_MAX)
                continue;
            lab_bar *bar = &bars.list[bars.count++];
            fill_bar(&group->rows[j], bar);
            if (j == 0)
                snprintf(bar->heading, sizeof bar->heading, "%.70s, %lld x %lld x %lld", group->title,
                         (long long)group->rows[j].row->m, (long long)group->rows[j].row->n,
                         (long long)group->rows[j].row->k);
        }
    }
    if (bars.count < all)
        snprintf(more, sizeof more, " The chart shows %d of %d; the table has all.", bars.count, all);
    snprintf(caption, sizeof caption,
             "Filled bars are rung's kernels, hollow bars are libraries; whiskers are 95 %% intervals.%s", more);
    if (bars.count > 0) {
        lab_page_section(&report->page, "measured-others", "Types and single problems");
        lab_page_figure(&report->page, &(lab_figure){.slug = "types",
                                                     .title = "One or two rows each",
                                                     .kind = LAB_FIGURE_MEASURED,
                                                     .caption = caption,
                                                     .description = "GFLOPS of single rows, by type and problem.",
                                                     .draw = lab_draw_bars,
                                                     .data = &bars,
                                                     .grid = &grid});
    }
    lab_data_table_free(&grid);
    free(bars.list);
}

void lab_report_bench_section(lab_report *report)
{
    for (int i = 0; i < report->group_count; i++)
        if (!is_small_group(&report->groups[i]))
            write_group(report, &report->groups[i], i);
    write_small_groups(report);
}
