/* SPDX-License-Identifier: Apache-2.0 */
/* section_sizes.c - draws speed over the matrix size, one line per kernel, for the bench section of a report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/report_internal.h"

enum { SERIES_MAX = 16, OMITTED_SERIES_MAX = 256 };

/* ---- Lines ---- */

typedef struct sized {
    lab_curve list[SERIES_MAX + 1]; /* and the peak */
    int count;
    double *x, *y;
    int used;
    const char *omitted_labels[OMITTED_SERIES_MAX]; /* labels of kernels that found no place */
    int omitted_count;
} size_series_t;

/* Counts each label once; those of one problem come before the next, and each problem has all of them. */
static void note_omitted(size_series_t *sized, const char *label)
{
    for (int i = 0; i < sized->omitted_count; i++)
        if (strcmp(sized->omitted_labels[i], label) == 0)
            return;
    if (sized->omitted_count < OMITTED_SERIES_MAX)
        sized->omitted_labels[sized->omitted_count++] = label;
}

static lab_curve *series_of(size_series_t *sized, const lab_report_row *shown, int sizes)
{
    for (int i = 0; i < sized->count; i++)
        if (strcmp(sized->list[i].label, shown->label) == 0)
            return &sized->list[i];
    if (sized->count == SERIES_MAX) {
        note_omitted(sized, shown->label);
        return NULL;
    }
    lab_curve *series = &sized->list[sized->count++];
    *series = (lab_curve){.mark = shown->mark, .x = sized->x + sized->used, .y = sized->y + sized->used};
    snprintf(series->label, sizeof series->label, "%s", shown->label);
    sized->used += sizes;
    return series;
}

static int count_squares(const lab_report_row_group *group)
{
    int count = 0;
    for (int start = 0; start < group->count; start = lab_report_problem_end(group, start))
        count += lab_report_is_square(group->rows[start].row) && group->rows[start].row->m > 0;
    return count;
}

/* Every row that is square into its series, and the peak beside them. */
static void gather_series(const lab_report *report, const lab_report_row_group *group, int sizes, size_series_t *sized)
{
    lab_curve peaks = {.mark = {LAB_COLOUR_roof, 0, false},
                       .is_limit = true,
                       .x = sized->x + SERIES_MAX * sizes,
                       .y = sized->y + SERIES_MAX * sizes};
    for (int start = 0, end; start < group->count; start = end) {
        end = lab_report_problem_end(group, start);
        if (!lab_report_is_square(group->rows[start].row) || group->rows[start].row->m == 0)
            continue;
        double size = (double)group->rows[start].row->m, peak = lab_report_median_peak(report, group, start, end);
        for (int i = start; i < end; i++) {
            lab_curve *series = series_of(sized, &group->rows[i], sizes);
            if (series && series->count < sizes) {
                series->x[series->count] = size;
                series->y[series->count++] = group->rows[i].row->gflops;
            }
        }
        if (peak > 0) {
            peaks.x[peaks.count] = size;
            peaks.y[peaks.count++] = peak;
        }
    }
    if (peaks.count > 0) {
        char number[32];
        lab_format_short(lab_report_median_peak(report, group, 0, group->count), number, sizeof number);
        snprintf(peaks.label, sizeof peaks.label, "measured peak %s", number);
        sized->list[sized->count++] = peaks;
    }
}

static double value_at(const lab_curve *series, double x)
{
    for (int i = 0; i < series->count; i++)
        if (series->x[i] == x)
            return series->y[i];
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
        if (!lab_report_is_square(row) || row->m == 0)
            continue;
        lab_data_table_add(grid, "%lld", (long long)row->m);
        for (int i = 0; i < sized->count; i++)
            lab_data_table_add_number(grid, value_at(&sized->list[i], (double)row->m));
    }
}

void lab_report_draw_size_chart(lab_report *report, const lab_report_row_group *group)
{
    int sizes = count_squares(group);
    size_series_t *sized = calloc(1, sizeof *sized);
    double *room = calloc((size_t)(SERIES_MAX + 1) * 2 * (size_t)(sizes + 1), sizeof *room);
    char slug[360], more[120] = "", caption[400];
    lab_data_table grid = {0};
    if (sized && room && sizes >= 2) {
        sized->x = room;
        sized->y = room + (SERIES_MAX + 1) * (sizes + 1);
        gather_series(report, group, sizes, sized);
        tabulate_series(group, sized, &grid);
        lab_line_chart lines = {.x_unit = "m = n = k", .y_unit = "GFLOPS", .list = sized->list, .count = sized->count};
        snprintf(slug, sizeof slug, "sizes %s", group->title);
        if (sized->omitted_count > 0)
            snprintf(more, sizeof more, " The chart shows %d of %d%s kernels; the list of fields below has all.",
                     SERIES_MAX, SERIES_MAX + sized->omitted_count,
                     sized->omitted_count == OMITTED_SERIES_MAX ? " or more" : "");
        snprintf(
            caption, sizeof caption,
            "Square matrices. Solid lines and filled markers are rung's kernels, dashed lines and hollow markers are libraries. The dotted line is the measured peak; an arrow means that the peak is far above the chart.%s",
            more);
        lab_page_figure(&report->page,
                        &(lab_figure){.slug = slug,
                                      .title = "Speed over the size",
                                      .kind = LAB_FIGURE_MEASURED,
                                      .context = group->title,
                                      .caption = caption,
                                      .description = "GFLOPS of each kernel and library over the size of square "
                                                     "matrices.",
                                      .draw = lab_draw_line_chart,
                                      .data = &lines,
                                      .grid = &grid});
    }
    lab_data_table_free(&grid);
    free(room);
    free(sized);
}
