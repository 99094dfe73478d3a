/* SPDX-License-Identifier: Apache-2.0 */
/* chart_lines.c - draws one line per kernel over the size, with its name at its end or, on a phone, in a legend. */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>

#include "common/statistics.h"

enum { LABEL_GAP = 16, TOP_MARGIN = 14, SERIES_MAX = 32 };

static const char ARROW_UP[] = " \xe2\x86\x91";

typedef struct line_chart_range {
    double first, last;     /* sizes */
    double lowest, highest; /* values above zero */
    double best_slowest;    /* the highest value of the slowest series */
} line_chart_range_t;

/* Returns whether a series is a limit so far above all lines that they would have no room below it. */
static bool is_far_limit(const lab_line_chart *lines, const lab_curve *limit)
{
    double highest = 0, least = 1e300;
    for (int i = 0; i < lines->count; i++)
        for (int j = 0; j < lines->list[i].count && !lines->list[i].is_limit; j++)
            highest = fmax(highest, lines->list[i].y[j]);
    for (int j = 0; j < limit->count; j++)
        least = fmin(least, limit->y[j]);
    return limit->is_limit && least > 2 * highest;
}

static line_chart_range_t find_range(const lab_line_chart *lines)
{
    line_chart_range_t range = {.first = 1e300, .lowest = 1e300, .best_slowest = 1e300};
    for (int i = 0; i < lines->count; i++) {
        double best = 0;
        if (is_far_limit(lines, &lines->list[i]))
            continue;
        for (int j = 0; j < lines->list[i].count; j++) {
            double y = lines->list[i].y[j];
            range.first = fmin(range.first, lines->list[i].x[j]);
            range.last = fmax(range.last, lines->list[i].x[j]);
            range.highest = fmax(range.highest, y);
            range.lowest = y > 0 ? fmin(range.lowest, y) : range.lowest;
            best = fmax(best, y);
        }
        range.best_slowest = best > 0 ? fmin(range.best_slowest, best) : range.best_slowest;
    }
    return range;
}

static lab_chart_frame compute_line_frame(const lab_svg *svg, const lab_line_chart *lines)
{
    double widest = 0;
    line_chart_range_t range = find_range(lines);
    lab_chart_frame frame = {.top = TOP_MARGIN};
    for (int i = 0; i < lines->count; i++)
        widest = fmax(widest, lab_svg_text_width(lines->list[i].label, LAB_FONT_SIZE));
    frame.right = svg->is_narrow ? svg->width - 14 : svg->width - fmin(widest, 0.3 * svg->width) - 48;
    frame.bottom = TOP_MARGIN + (svg->is_narrow ? 250 : fmax(340, (double)LABEL_GAP * lines->count));
    bool is_log = range.highest > 12 * range.best_slowest; /* too wide a range for a linear axis */
    frame.y = is_log ? lab_axis_log(range.lowest / 1.3, range.highest * 1.3, frame.bottom, TOP_MARGIN)
                     : lab_axis_linear(range.highest, frame.bottom, TOP_MARGIN);
    frame.left = lab_y_axis_width(svg, &frame.y);
    /* The x axis ends at the first and the last size. */
    frame.x = (lab_axis){fmax(range.first, 1e-300), fmax(range.last, range.first * 1.5), true, frame.left + 8,
                         frame.right};
    return frame;
}

static void draw_y_grid(lab_svg *svg, const lab_chart_frame *frame, const char *unit)
{
    char text[64];
    lab_draw_y_ticks(svg, frame, 7);
    snprintf(text, sizeof text, "%.30s%s", unit, frame->y.is_log ? ", logarithmic" : "");
    lab_svg_line(svg, frame->left, frame->bottom, frame->right, frame->bottom, LAB_COLOUR_axis, 1, "");
    lab_draw_y_unit(svg, frame, text);
}

/* Draws a tick at a size, and its label if there is room for the label and a space on both sides. */
static void draw_size_tick(lab_svg *svg, const lab_chart_frame *frame, double size)
{
    char label[32], padded[40];
    snprintf(label, sizeof label, "%.7g", size);
    snprintf(padded, sizeof padded, " %s ", label);
    double x = lab_axis_position(&frame->x, size);
    double half = lab_svg_text_width(label, LAB_FONT_SIZE) / 2 + lab_svg_text_width(" ", LAB_FONT_SIZE) + 0.1;
    double center = fmin(x, svg->width - half), y = frame->bottom + 18;
    lab_svg_line(svg, x, frame->bottom, x, frame->bottom + 4, LAB_COLOUR_axis, 1, "");
    if (lab_svg_text_fits(svg, center, y, lab_tick_style(LAB_ANCHOR_MIDDLE), padded))
        lab_svg_text(svg, center, y, lab_tick_style(LAB_ANCHOR_MIDDLE), label);
}

/* Labels the x axis with the sizes: first both ends, then the sizes between them that have room. */
static void draw_x_grid(lab_svg *svg, const lab_chart_frame *frame, const lab_line_chart *lines)
{
    double sizes[512];
    int count = 0, distinct = 0;
    for (int i = 0; i < lines->count; i++)
        for (int j = 0; j < lines->list[i].count && count < 512; j++)
            sizes[count++] = lines->list[i].x[j];
    lab_sort_doubles(sizes, count);
    for (int i = 0; i < count; i++)
        if (distinct == 0 || sizes[i] > sizes[distinct - 1])
            sizes[distinct++] = sizes[i];
    for (int i = 0; i < distinct; i++)
        if (i == 0 || i == distinct - 1)
            draw_size_tick(svg, frame, sizes[i]);
    for (int i = 1; i < distinct - 1; i++)
        draw_size_tick(svg, frame, sizes[i]);
    lab_draw_x_unit(svg, frame, lines->x_unit);
}

static const char *dash_of(const lab_curve *series)
{
    return series->is_limit ? "2 3" : series->mark.is_hollow ? "7 4" : "";
}

static void draw_series(lab_svg *svg, const lab_chart_frame *frame, const lab_curve *series)
{
    double *x = malloc(2 * (size_t)series->count * sizeof *x), *y = x + series->count;
    if (!x)
        return;
    for (int i = 0; i < series->count; i++) {
        x[i] = lab_axis_position(&frame->x, series->x[i]);
        y[i] = lab_axis_position(&frame->y, series->y[i]);
    }
    if (series->count > 1)
        lab_svg_polyline(svg, x, y, series->count, series->mark.colour, series->is_limit ? 1.5 : 2, dash_of(series));
    for (int i = 0; i < series->count && (!series->is_limit || series->count == 1); i++)
        lab_svg_marker(svg, x[i], y[i], svg->is_narrow ? 3.4 : 4, series->mark);
    free(x);
}

typedef struct line_end {
    const lab_curve *series;
    double x, y;
    double label_y;
} line_end_t;

static int by_height(const void *a, const void *b)
{
    const line_end_t *x = a, *y = b;
    return (x->y > y->y) - (x->y < y->y);
}

/* Moves the labels of ends that are sorted by height apart, until all are between `low` and `high`. */
static void spread_labels(line_end_t *ends, int count, double low, double high)
{
    double gap = LABEL_GAP;
    if (count > 1 && (count - 1) * gap > high - low)
        gap = (high - low) / (count - 1);
    for (int i = 0; i < count; i++)
        ends[i].label_y = fmax(ends[i].y, i == 0 ? low : ends[i - 1].label_y + gap);
    for (int i = count - 1; i >= 0; i--)
        ends[i].label_y = fmin(ends[i].label_y, i == count - 1 ? high : ends[i + 1].label_y - gap);
}

/* Draws the names at the ends of their lines, moved apart, and connects each name with its line. */
static void draw_end_labels(lab_svg *svg, const lab_chart_frame *frame, const lab_line_chart *lines)
{
    line_end_t ends[SERIES_MAX];
    double x = frame->right + 24;
    int count = 0;
    for (int i = 0; i < lines->count && i < SERIES_MAX; i++) {
        const lab_curve *series = &lines->list[i];
        if (series->count > 0)
            ends[count++] = (line_end_t){.series = series,
                                         .x = lab_axis_position(&frame->x, series->x[series->count - 1]),
                                         .y = lab_axis_position(&frame->y, series->y[series->count - 1])};
    }
    qsort(ends, (size_t)count, sizeof *ends, by_height);
    spread_labels(ends, count, TOP_MARGIN, frame->bottom - 4);
    for (const line_end_t *end = ends; end < ends + count; end++) {
        const lab_curve *series = end->series;
        if (is_far_limit(lines, series)) {
            char label[LAB_LABEL_MAX];
            snprintf(label, sizeof label, "%.100s%s", series->label, ARROW_UP);
            lab_svg_text(svg, x + 9, end->label_y + 4, lab_label_style(LAB_ANCHOR_START), label);
            continue;
        }
        lab_svg_line(svg, end->x + 6, end->y, x - 8, end->label_y, series->mark.colour, 0.8, "");
        lab_svg_marker(svg, x, end->label_y, series->is_limit ? 2 : 4, series->mark);
        lab_svg_text_within(svg, x + 9, end->label_y + 4, lab_label_style(LAB_ANCHOR_START), svg->width - x - 10,
                            series->label);
    }
}

static double draw_series_legend(lab_svg *svg, const lab_line_chart *lines, double y)
{
    lab_legend_entry keys[SERIES_MAX];
    char labels[SERIES_MAX][LAB_LABEL_MAX];
    int count = 0;
    for (int i = 0; i < lines->count && count < SERIES_MAX; i++) {
        const lab_curve *series = &lines->list[i];
        snprintf(labels[count], sizeof labels[count], "%.110s%s", series->label,
                 is_far_limit(lines, series) ? ARROW_UP : "");
        keys[count] = (lab_legend_entry){labels[count], series->mark, true, dash_of(series)};
        if (series->is_limit)
            keys[count].mark.shape = -1;
        count++;
    }
    return lab_draw_legend(svg, keys, count, 2, y);
}

void lab_draw_line_chart(lab_svg *svg, const void *data)
{
    const lab_line_chart *lines = data;
    lab_chart_frame frame = compute_line_frame(svg, lines);
    draw_y_grid(svg, &frame, lines->y_unit);
    draw_x_grid(svg, &frame, lines);
    for (int i = 0; i < lines->count; i++)
        if (!is_far_limit(lines, &lines->list[i]))
            draw_series(svg, &frame, &lines->list[i]);
    svg->height = frame.bottom + 44;
    if (svg->is_narrow)
        svg->height = draw_series_legend(svg, lines, frame.bottom + 48) + 6;
    else
        draw_end_labels(svg, &frame, lines);
}
