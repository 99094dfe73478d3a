/* SPDX-License-Identifier: Apache-2.0 */
/* section_sizes.c - draws speed over the matrix size, one line per kernel, for the bench section of a report. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

enum { SERIES_MAX = 16, OMITTED_SERIES_MAX = 256 };

typedef struct size_series {
    lab_curve list[SERIES_MAX + 1]; /* the last one is the peak */
    int count;
    double *room;                                   /* for the points of all curves */
    int sizes;                                      /* points per curve */
    const char *omitted_labels[OMITTED_SERIES_MAX]; /* kernels beyond SERIES_MAX */
    int omitted_count;
} size_series_t;

static void note_omitted(size_series_t *sized, const char *label)
{
    for (int i = 0; i < sized->omitted_count; i++)
        if (strcmp(sized->omitted_labels[i], label) == 0)
            return;
    if (sized->omitted_count < OMITTED_SERIES_MAX)
        sized->omitted_labels[sized->omitted_count++] = label;
}

/* Returns an empty curve with the memory of curve `index`. */
static lab_curve new_curve(const size_series_t *sized, int index, lab_marker mark)
{
    double *x = sized->room + 2 * index * sized->sizes;
    return (lab_curve){.mark = mark, .x = x, .y = x + sized->sizes};
}

static void add_point(lab_curve *curve, int sizes, double x, double y)
{
    if (curve->count == sizes)
        return;
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
}

/* Returns the curve of a kernel; NULL if there are too many. */
static lab_curve *curve_of(size_series_t *sized, const lab_report_row *shown)
{
    for (int i = 0; i < sized->count; i++)
        if (strcmp(sized->list[i].label, shown->label) == 0)
            return &sized->list[i];
    if (sized->count == SERIES_MAX) {
        note_omitted(sized, shown->label);
        return NULL;
    }
    lab_curve *curve = &sized->list[sized->count];
    *curve = new_curve(sized, sized->count++, shown->mark);
    snprintf(curve->label, sizeof curve->label, "%s", shown->label);
    return curve;
}

static bool is_square_problem(const lab_result *row)
{
    return lab_result_is_square(row) && row->m > 0;
}

/* Adds the rows of square problems to the curves of their kernels, and the curve of the peak. */
static void gather_series(const lab_report *report, const lab_report_row_group *group, size_series_t *sized)
{
    lab_curve peaks = new_curve(sized, SERIES_MAX, (lab_marker){LAB_COLOUR_roof, 0, false});
    peaks.is_limit = true;
    for (int start = 0, end; start < group->count; start = end) {
        end = lab_report_problem_end(group, start);
        if (!is_square_problem(group->rows[start].row))
            continue;
        double size = (double)group->rows[start].row->m, peak = lab_report_median_peak(report, group, start, end);
        for (int i = start; i < end; i++) {
            lab_curve *curve = curve_of(sized, &group->rows[i]);
            if (curve)
                add_point(curve, sized->sizes, size, group->rows[i].row->gflops);
        }
        if (peak > 0)
            add_point(&peaks, sized->sizes, size, peak);
    }
    if (peaks.count > 0) {
        snprintf(peaks.label, sizeof peaks.label, "measured peak %s",
                 lab_short_number(lab_report_median_peak(report, group, 0, group->count)).text);
        sized->list[sized->count++] = peaks;
    }
}

static double value_at(const lab_curve *curve, double x)
{
    for (int i = 0; i < curve->count; i++)
        if (curve->x[i] == x)
            return curve->y[i];
    return 0;
}

static void tabulate_series(const lab_report_row_group *group, const size_series_t *sized, lab_data_table *grid)
{
    const char *heads[SERIES_MAX + 2] = {"size"};
    for (int i = 0; i < sized->count; i++)
        heads[i + 1] = sized->list[i].label;
    lab_data_table_begin(grid, sized->count + 1, NULL, heads);
    for (int start = 0; start < group->count; start = lab_report_problem_end(group, start)) {
        const lab_result *row = group->rows[start].row;
        if (!is_square_problem(row))
            continue;
        lab_data_table_add(grid, "%lld", (long long)row->m);
        for (int i = 0; i < sized->count; i++)
            lab_data_table_add_number(grid, value_at(&sized->list[i], (double)row->m));
    }
}

void lab_report_draw_size_chart(lab_report *report, const lab_report_row_group *group)
{
    size_series_t sized = {.count = 0};
    char more[120] = "", caption[400];
    lab_data_table grid;
    for (int start = 0; start < group->count; start = lab_report_problem_end(group, start))
        sized.sizes += is_square_problem(group->rows[start].row);
    sized.room = calloc((size_t)(SERIES_MAX + 1) * 2 * (size_t)(sized.sizes + 1), sizeof *sized.room);
    if (sized.room && sized.sizes >= 2) {
        gather_series(report, group, &sized);
        tabulate_series(group, &sized, &grid);
        lab_line_chart lines = {.x_unit = "m = n = k", .y_unit = "GFLOPS", .list = sized.list, .count = sized.count};
        if (sized.omitted_count > 0)
            snprintf(more, sizeof more, " The chart shows %d of %d%s kernels; the list of fields below has all.",
                     SERIES_MAX, SERIES_MAX + sized.omitted_count,
                     sized.omitted_count == OMITTED_SERIES_MAX ? " or more" : "");
        snprintf(
            caption, sizeof caption,
            "Square matrices. Solid lines and filled markers are rung's kernels, dashed lines and hollow markers are libraries. The dotted line is the measured peak; an arrow means that the peak is far above the chart.%s",
            more);
        lab_report_group_figure(
            report, group, "sizes",
            (lab_figure){.title = "Speed over the size",
                         .caption = caption,
                         .description = "GFLOPS of each kernel and library over the size of square matrices.",
                         .draw = lab_draw_line_chart,
                         .data = &lines,
                         .grid = &grid});
        lab_data_table_free(&grid);
    }
    free(sized.room);
}
