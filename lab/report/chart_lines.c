/* SPDX-License-Identifier: Apache-2.0 */
/* chart_lines.c - a line for each kernel over the size: named at its end, or in a legend where there is no
 * room for that. */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"

enum { FONT_SIZE = 12, LABEL_GAP = 16, TOP_MARGIN = 14, SERIES_MAX = 32 };

static const char ARROW_UP[] = " \xe2\x86\x91";

typedef struct frame {
    lab_axis x, y;
    double left, right, bottom;
} line_chart_frame_t;

typedef struct range {
    double first, last;     /* sizes */
    double lowest, highest; /* values; the lowest of those above zero */
    double best_slowest;    /* of the slowest series its best */
} line_chart_range_t;

/* Of a limit: so far above all lines that they would have no room below it. */
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
        if (lines->list[i].is_limit && is_far_limit(lines, &lines->list[i]))
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

/* A ladder spans more than an even axis can show. */
static bool needs_log_axis(const line_chart_range_t *range)
{
    return range->highest > 12 * range->best_slowest;
}

static line_chart_frame_t compute_line_frame(const lab_svg *svg, const lab_line_chart *lines)
{
    double widest = 0;
    line_chart_range_t range = find_range(lines);
    line_chart_frame_t frame = {0};
    for (int i = 0; i < lines->count; i++)
        widest = fmax(widest, lab_svg_text_width(lines->list[i].label, FONT_SIZE));
    frame.right = svg->is_narrow ? svg->width - 14 : svg->width - fmin(widest, 0.3 * svg->width) - 48;
    frame.bottom = TOP_MARGIN + fmax(svg->is_narrow ? 250 : 340, svg->is_narrow ? 0 : (double)LABEL_GAP * lines->count);
    frame.y = needs_log_axis(&range) ? lab_axis_log(range.lowest / 1.3, range.highest * 1.3, frame.bottom, TOP_MARGIN)
                                     : lab_axis_linear(range.highest, frame.bottom, TOP_MARGIN);
    frame.left = lab_axis_label_width(&frame.y, frame.y.is_log ? 9 : 8, svg->is_narrow ? 11 : FONT_SIZE);
    /* Sizes reach from the first to the last, no further. */
    frame.x = (lab_axis){fmax(range.first, 1e-300), fmax(range.last, range.first * 1.5), true, frame.left + 8,
                         frame.right};
    return frame;
}

static void draw_y_grid(lab_svg *svg, const line_chart_frame_t *frame, const char *unit)
{
    double ticks[LAB_TICKS_MAX];
    int count = lab_axis_ticks(&frame->y, frame->y.is_log ? 9 : 8, ticks);
    for (int i = 0; i < count; i++) {
        char label[32];
        double y = lab_axis_position(&frame->y, ticks[i]);
        lab_format_tick(ticks[i], label, sizeof label);
        lab_svg_line(svg, frame->left, y, frame->right, y, LAB_COLOUR_rule, 1, "");
        lab_svg_text(svg,
                     (lab_text_style){.x = frame->left - 7,
                                      .y = y + 4,
                                      .size = svg->is_narrow ? 11 : FONT_SIZE,
                                      .colour = LAB_COLOUR_soft,
                                      .anchor = LAB_ANCHOR_END},
                     label);
    }
    char words[64];
    snprintf(words, sizeof words, "%.30s%s", unit, frame->y.is_log ? ", logarithmic" : "");
    lab_svg_line(svg, frame->left, frame->bottom, frame->right, frame->bottom, LAB_COLOUR_axis, 1, "");
    lab_svg_text_vertical(svg,
                          (lab_text_style){.x = 11,
                                           .y = (TOP_MARGIN + frame->bottom) / 2,
                                           .size = svg->is_narrow ? 11 : FONT_SIZE,
                                           .colour = LAB_COLOUR_soft,
                                           .anchor = LAB_ANCHOR_MIDDLE},
                          words);
}

/* The sizes themselves; first both ends, then those between that there is room for. */
static void draw_x_grid(lab_svg *svg, const line_chart_frame_t *frame, const lab_line_chart *lines)
{
    double sizes[512];
    int count = 0, kept = 0;
    for (int i = 0; i < lines->count; i++)
        for (int j = 0; j < lines->list[i].count && count < 512; j++)
            sizes[count++] = lines->list[i].x[j];
    lab_sort_doubles(sizes, count);
    for (int i = 0; i < count; i++)
        if (kept == 0 || sizes[i] > sizes[kept - 1])
            sizes[kept++] = sizes[i];
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < kept; i++) {
            char label[32];
            double x = lab_axis_position(&frame->x, sizes[i]), half;
            bool is_end = i == 0 || i == kept - 1;
            snprintf(label, sizeof label, "%.7g", sizes[i]);
            half = lab_svg_text_width(label, FONT_SIZE) / 2 + lab_svg_text_width(" ", FONT_SIZE) + 0.1;
            lab_text_style words = {.x = fmin(x, svg->width - half),
                                    .y = frame->bottom + 18,
                                    .size = FONT_SIZE,
                                    .colour = LAB_COLOUR_soft,
                                    .anchor = LAB_ANCHOR_MIDDLE};
            lab_text_style wide = words;
            char padded[40];
            snprintf(padded, sizeof padded, " %s ", label);
            if (is_end != (step == 0))
                continue;
            lab_svg_line(svg, x, frame->bottom, x, frame->bottom + 4, LAB_COLOUR_axis, 1, "");
            if (lab_svg_text_fits(svg, wide, padded))
                lab_svg_text(svg, words, label);
        }
    lab_svg_text(svg,
                 (lab_text_style){.x = (frame->left + frame->right) / 2,
                                  .y = frame->bottom + 36,
                                  .size = FONT_SIZE,
                                  .colour = LAB_COLOUR_soft,
                                  .anchor = LAB_ANCHOR_MIDDLE},
                 lines->x_unit);
}

static const char *dash_of(const lab_curve *series)
{
    return series->is_limit ? "2 3" : series->mark.is_hollow ? "7 4" : "";
}

static void draw_series(lab_svg *svg, const line_chart_frame_t *frame, const lab_curve *series)
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

typedef struct end {
    const lab_curve *series;
    double x, y;
} line_end_t;

static int by_height(const void *a, const void *b)
{
    const line_end_t *x = a, *y = b;
    return (x->y > y->y) - (x->y < y->y);
}

/* Names at the ends of their lines, pushed apart, with a thread to the line where they were moved. */
static void draw_end_labels(lab_svg *svg, const line_chart_frame_t *frame, const lab_line_chart *lines)
{
    line_end_t ends[SERIES_MAX];
    double places[SERIES_MAX];
    int count = 0;
    for (int i = 0; i < lines->count && i < SERIES_MAX; i++) {
        const lab_curve *series = &lines->list[i];
        if (series->count > 0)
            ends[count++] = (line_end_t){series, lab_axis_position(&frame->x, series->x[series->count - 1]),
                                         lab_axis_position(&frame->y, series->y[series->count - 1])};
    }
    qsort(ends, (size_t)count, sizeof *ends, by_height);
    for (int i = 0; i < count; i++)
        places[i] = ends[i].y;
    lab_spread_labels(places, count, LABEL_GAP, TOP_MARGIN, frame->bottom - 4);
    for (int i = 0; i < count; i++) {
        char label[LAB_LABEL_MAX];
        double x = frame->right + 24;
        if (is_far_limit(lines, ends[i].series)) {
            snprintf(label, sizeof label, "%.100s%s", ends[i].series->label, ARROW_UP);
            lab_svg_text(svg,
                         (lab_text_style){.x = x + 9, .y = places[i] + 4, .size = FONT_SIZE, .colour = LAB_COLOUR_ink},
                         label);
            continue;
        }
        lab_svg_line(svg, ends[i].x + 6, ends[i].y, x - 8, places[i], ends[i].series->mark.colour, 0.8, "");
        lab_svg_marker(svg, x, places[i], ends[i].series->is_limit ? 2 : 4, ends[i].series->mark);
        lab_svg_text_truncate(ends[i].series->label, FONT_SIZE, svg->width - x - 10, label, sizeof label);
        lab_svg_text(svg, (lab_text_style){.x = x + 9, .y = places[i] + 4, .size = FONT_SIZE, .colour = LAB_COLOUR_ink},
                     label);
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
    line_chart_frame_t frame = compute_line_frame(svg, lines);
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
