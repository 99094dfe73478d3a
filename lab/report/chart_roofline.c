/* SPDX-License-Identifier: Apache-2.0 */
/* chart_roofline.c - how much is computed for each byte that is moved, how fast that is, and what memory
 * and the processor allow at most. */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FONT_SIZE = 12, TOP_MARGIN = 12, KEYS_MAX = 64 };

typedef struct frame {
    lab_axis x, y;
    double left, right, bottom;
} roofline_frame_t;

static double above_zero(double value)
{
    return value > 1e-30 ? value : 1e-30;
}

/* Around all points and the knee of the slowest memory, with some air. */
static roofline_frame_t compute_roofline_frame(const lab_svg *svg, const lab_roofline *roofline)
{
    double low_x = 1e300, high_x = 0, low_y = 1e300, high_y = 0, slowest = 0;
    for (int i = 0; i < roofline->count; i++) {
        low_x = fmin(low_x, above_zero(roofline->list[i].intensity));
        high_x = fmax(high_x, roofline->list[i].intensity);
        low_y = fmin(low_y, above_zero(roofline->list[i].gflops));
        high_y = fmax(high_y, roofline->list[i].gflops);
    }
    for (int i = 0; i < roofline->ceiling_count; i++)
        high_y = fmax(high_y, roofline->ceilings[i].gflops);
    for (int i = 0; i < roofline->ceiling_count; i++) /* faster ones come in as far as they reach */
        if (roofline->ceilings[i].gb_s > 0 && (slowest == 0 || roofline->ceilings[i].gb_s < slowest))
            slowest = roofline->ceilings[i].gb_s;
    if (slowest > 0)
        low_x = fmin(low_x, fmax(high_y / slowest, low_x / 1e3) / 6);
    roofline_frame_t frame = {.right = svg->width - 12, .bottom = TOP_MARGIN + (svg->is_narrow ? 280.0 : 380.0)};
    frame.y = lab_axis_log(low_y / 1.8, above_zero(high_y) * 1.7, frame.bottom, TOP_MARGIN);
    frame.left = lab_axis_label_width(&frame.y, 9, svg->is_narrow ? 11 : FONT_SIZE);
    frame.x = lab_axis_log(low_x / 1.5, above_zero(high_x) * 1.8, frame.left, frame.right);
    return frame;
}

static void draw_grid(lab_svg *svg, const roofline_frame_t *frame, const char *x_unit)
{
    double ticks[LAB_TICKS_MAX], size = svg->is_narrow ? 11 : FONT_SIZE;
    char label[32];
    int count = lab_axis_ticks(&frame->y, 9, ticks);
    for (int i = 0; i < count; i++) {
        double y = lab_axis_position(&frame->y, ticks[i]);
        lab_format_tick(ticks[i], label, sizeof label);
        lab_svg_line(svg, frame->left, y, frame->right, y, LAB_COLOUR_rule, 1, "");
        lab_svg_text(
            svg,
            (lab_text_style){
                .x = frame->left - 6, .y = y + 4, .size = size, .colour = LAB_COLOUR_soft, .anchor = LAB_ANCHOR_END},
            label);
    }
    count = lab_axis_ticks(&frame->x, svg->is_narrow ? 5 : 10, ticks);
    for (int i = 0; i < count; i++) {
        double x = lab_axis_position(&frame->x, ticks[i]);
        lab_format_tick(ticks[i], label, sizeof label);
        lab_text_style words = {.x = fmin(x, svg->width - lab_svg_text_width(label, FONT_SIZE) / 2),
                                .y = frame->bottom + 18,
                                .size = FONT_SIZE,
                                .colour = LAB_COLOUR_soft,
                                .anchor = LAB_ANCHOR_MIDDLE};
        lab_svg_line(svg, x, TOP_MARGIN, x, frame->bottom, LAB_COLOUR_rule, 1, "");
        if (lab_svg_text_fits(svg, words, label))
            lab_svg_text(svg, words, label);
    }
    lab_svg_line(svg, frame->left, frame->bottom, frame->right, frame->bottom, LAB_COLOUR_axis, 1, "");
    lab_svg_line(svg, frame->left, TOP_MARGIN, frame->left, frame->bottom, LAB_COLOUR_axis, 1, "");
    lab_svg_text(svg,
                 (lab_text_style){.x = (frame->left + frame->right) / 2,
                                  .y = frame->bottom + 36,
                                  .size = FONT_SIZE,
                                  .colour = LAB_COLOUR_soft,
                                  .anchor = LAB_ANCHOR_MIDDLE},
                 x_unit);
    lab_svg_text_vertical(svg,
                          (lab_text_style){.x = 11,
                                           .y = (TOP_MARGIN + frame->bottom) / 2,
                                           .size = size,
                                           .colour = LAB_COLOUR_soft,
                                           .anchor = LAB_ANCHOR_MIDDLE},
                          "GFLOPS");
}

/* ---- Ceilings ---- */

/* Words above a flat line, from its right end on, at the first place that is free. */
static void draw_flat_label(lab_svg *svg, const roofline_frame_t *frame, double x, double y, const char *label)
{
    enum { LABEL_POSITIONS = 16 };
    double width = lab_svg_text_width(label, FONT_SIZE);
    for (int i = 0; i < 2 * LABEL_POSITIONS; i++) {
        double end = frame->right - 4 - (frame->right - x) * (i % LABEL_POSITIONS) / LABEL_POSITIONS;
        lab_text_style words = {.x = end,
                                .y = y + (i < LABEL_POSITIONS ? -6 : 16),
                                .size = FONT_SIZE,
                                .anchor = LAB_ANCHOR_END,
                                .colour = LAB_COLOUR_ink,
                                .has_halo = true};
        if (end - width > frame->left + 2 && words.y > TOP_MARGIN + 9 && lab_svg_text_fits(svg, words, label)) {
            lab_svg_text(svg, words, label);
            return;
        }
    }
}

/* Words along a slope, above it, from its lower end on. */
static void draw_slope_label(lab_svg *svg, double x1, double y1, double x2, double y2, const char *label)
{
    enum { LABEL_POSITIONS = 12 };
    double angle = atan2(y2 - y1, x2 - x1), degrees = angle * 180 / 3.14159265358979,
           long_enough = hypot(x2 - x1, y2 - y1) - 12;
    double width = lab_svg_text_width(label, FONT_SIZE);
    for (int i = 0; i < LABEL_POSITIONS && width < long_enough; i++) {
        double part = (8 + (long_enough - width) * i / LABEL_POSITIONS) / hypot(x2 - x1, y2 - y1);
        lab_text_style words = {.x = x1 + part * (x2 - x1) + 6 * sin(angle),
                                .y = y1 + part * (y2 - y1) - 6 * cos(angle),
                                .size = FONT_SIZE,
                                .colour = LAB_COLOUR_ink,
                                .has_halo = true};
        if (lab_svg_text_rotated(svg, words, degrees, label))
            return;
    }
}

static double highest_gflops(const lab_roofline *roofline)
{
    double highest = 0;
    for (int i = 0; i < roofline->ceiling_count; i++)
        highest = fmax(highest, roofline->ceilings[i].gflops);
    return highest;
}

/* What memory gives, up to the highest of the processor's: both ends, false if none of it is in the picture. */
static bool find_slope(const roofline_frame_t *frame, const lab_roofline_ceiling *ceiling, double highest, double x[2],
                       double y[2])
{
    double low = fmax(frame->x.low, frame->y.low / ceiling->gb_s);
    double high = fmin(frame->x.high, (highest > 0 ? highest : frame->y.high) / ceiling->gb_s);
    if (!(ceiling->gb_s > 0) || !(high > low))
        return false;
    x[0] = lab_axis_position(&frame->x, low);
    y[0] = lab_axis_position(&frame->y, low * ceiling->gb_s);
    x[1] = lab_axis_position(&frame->x, high);
    y[1] = lab_axis_position(&frame->y, high * ceiling->gb_s);
    return true;
}

/* From the steepest slope on. */
static double flat_start(const roofline_frame_t *frame, const lab_roofline *roofline,
                         const lab_roofline_ceiling *ceiling)
{
    double steepest = 0, low = frame->x.low;
    for (int i = 0; i < roofline->ceiling_count; i++)
        steepest = fmax(steepest, roofline->ceilings[i].gb_s);
    if (steepest > 0)
        low = fmax(low, ceiling->gflops / steepest);
    return lab_axis_position(&frame->x, low < frame->x.high ? low : frame->x.low);
}

/* First all lines, then their words: no line goes through words. */
static void draw_ceilings(lab_svg *svg, const roofline_frame_t *frame, const lab_roofline *roofline)
{
    double highest = highest_gflops(roofline), x[2], y[2];
    for (int words = 0; words < 2; words++)
        for (int i = 0; i < roofline->ceiling_count; i++) {
            const lab_roofline_ceiling *ceiling = &roofline->ceilings[i];
            double start = flat_start(frame, roofline, ceiling), height = lab_axis_position(&frame->y, ceiling->gflops);
            bool is_slope = find_slope(frame, ceiling, highest, x, y);
            if (ceiling->gflops > 0 && !words)
                lab_svg_line(svg, start, height, frame->right, height, LAB_COLOUR_roof, 2, "");
            else if (ceiling->gflops > 0)
                draw_flat_label(svg, frame, start, height, ceiling->label);
            else if (is_slope && !words)
                lab_svg_line(svg, x[0], y[0], x[1], y[1], LAB_COLOUR_roof, 1.5, "6 4");
            else if (is_slope)
                draw_slope_label(svg, x[0], y[0], x[1], y[1], ceiling->label);
        }
}

/* ---- Points ---- */

/* Beside its point, where there is room; the legend has its whole name anyhow. */
static void draw_point_label(lab_svg *svg, double x, double y, const char *label)
{
    static const struct {
        double x, y;
        lab_anchor anchor;
    } places[] = {{8, 4, LAB_ANCHOR_START},   {-8, 4, LAB_ANCHOR_END},   {0, -9, LAB_ANCHOR_MIDDLE},
                  {0, 18, LAB_ANCHOR_MIDDLE}, {8, -6, LAB_ANCHOR_START}, {8, 14, LAB_ANCHOR_START},
                  {-8, -6, LAB_ANCHOR_END},   {-8, 14, LAB_ANCHOR_END}};
    for (size_t i = 0; *label && i < sizeof places / sizeof *places; i++) {
        lab_text_style words = {.x = x + places[i].x,
                                .y = y + places[i].y,
                                .size = 11,
                                .colour = LAB_COLOUR_ink,
                                .anchor = places[i].anchor,
                                .has_halo = true};
        if (lab_svg_text_fits(svg, words, label)) {
            lab_svg_text(svg, words, label);
            return;
        }
    }
}

static int gather_keys(const lab_roofline *roofline, lab_legend_entry keys[KEYS_MAX])
{
    int count = 0;
    for (int i = 0; i < roofline->count; i++) {
        bool is_known = false;
        for (int j = 0; j < count; j++)
            is_known = is_known || strcmp(keys[j].label, roofline->list[i].label) == 0;
        if (!is_known && count < KEYS_MAX)
            keys[count++] = (lab_legend_entry){roofline->list[i].label, roofline->list[i].mark, false, ""};
    }
    return count;
}

void lab_draw_roofline(lab_svg *svg, const void *data)
{
    const lab_roofline *roofline = data;
    roofline_frame_t frame = compute_roofline_frame(svg, roofline);
    lab_legend_entry keys[KEYS_MAX];
    draw_grid(svg, &frame, roofline->x_unit);
    for (int i = 0; i < roofline->count; i++) /* no words on points */
        if (svg->text_count < LAB_SVG_TEXTS_MAX / 2)
            svg->texts[svg->text_count++] = (lab_box){lab_axis_position(&frame.x, roofline->list[i].intensity) - 4,
                                                      lab_axis_position(&frame.y, roofline->list[i].gflops) - 4, 8, 8};
    draw_ceilings(svg, &frame, roofline);
    for (int i = 0; i < roofline->count; i++) {
        const lab_roofline_point *point = &roofline->list[i];
        double x = lab_axis_position(&frame.x, point->intensity), y = lab_axis_position(&frame.y, point->gflops);
        draw_point_label(svg, x, y, point->short_label);
        lab_svg_marker(svg, x, y, 4.2, point->mark);
    }
    int count = gather_keys(roofline, keys);
    svg->height = lab_draw_legend(svg, keys, count, svg->is_narrow ? 2 : frame.left - 10, frame.bottom + 50) + 6;
}
