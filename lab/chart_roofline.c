/* SPDX-License-Identifier: Apache-2.0 */
/* chart_roofline.c - how much is computed for each byte that is moved, how fast that is, and what memory
 * and the processor allow at most. */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 12, TOP = 12, KEYS_MAX = 64 };

typedef struct frame {
    lab_axis x, y;
    double   left, right, bottom;
} frame;

static double above_zero(double value)
{
    return value > 1e-30 ? value : 1e-30;
}

/* Around all points and the lowest ceiling's knee, with some air. */
static frame lay_out(const lab_svg *svg, const lab_roofline *roofline)
{
    double low_x = 1e300, high_x = 0, low_y = 1e300, high_y = 0;
    for (int i = 0; i < roofline->count; i++) {
        low_x = fmin(low_x, above_zero(roofline->list[i].intensity));
        high_x = fmax(high_x, roofline->list[i].intensity);
        low_y = fmin(low_y, above_zero(roofline->list[i].gflops));
        high_y = fmax(high_y, roofline->list[i].gflops);
    }
    for (int i = 0; i < roofline->ceiling_count; i++)
        high_y = fmax(high_y, roofline->ceilings[i].gflops);
    for (int i = 0; i < roofline->ceiling_count; i++)
        if (roofline->ceilings[i].gb_s > 0)
            low_x = fmin(low_x, fmax(high_y / roofline->ceilings[i].gb_s, low_x / 1e3) / 3);
    frame frame = {.right = svg->width - 12, .bottom = TOP + (svg->is_narrow ? 280.0 : 380.0)};
    frame.y = lab_axis_log(low_y / 2, above_zero(high_y) * 1.8, frame.bottom, TOP);
    frame.left = lab_axis_room(&frame.y, 7, svg->is_narrow ? 11 : SIZE);
    frame.x = lab_axis_log(low_x / 1.5, above_zero(high_x) * 3, frame.left, frame.right);
    return frame;
}

static void draw_grid(lab_svg *svg, const frame *frame, const char *x_unit)
{
    double ticks[LAB_TICKS_MAX], size = svg->is_narrow ? 11 : SIZE;
    char label[32];
    int count = lab_axis_ticks(&frame->y, 7, ticks);
    for (int i = 0; i < count; i++) {
        double y = lab_axis_at(&frame->y, ticks[i]);
        lab_write_tick(ticks[i], label, sizeof label);
        lab_svg_line(svg, frame->left, y, frame->right, y, LAB_rule, 1, "");
        lab_svg_text(svg, (lab_words){.x = frame->left - 6, .y = y + 4, .size = size, .colour = LAB_soft, .anchor = LAB_END},
                     label);
    }
    count = lab_axis_ticks(&frame->x, svg->is_narrow ? 5 : 10, ticks);
    for (int i = 0; i < count; i++) {
        double x = lab_axis_at(&frame->x, ticks[i]);
        lab_write_tick(ticks[i], label, sizeof label);
        lab_words words = {.x = fmin(x, svg->width - lab_text_width(label, SIZE) / 2), .y = frame->bottom + 18, .size = SIZE,
                           .colour = LAB_soft, .anchor = LAB_MIDDLE};
        lab_svg_line(svg, x, TOP, x, frame->bottom, LAB_rule, 1, "");
        if (lab_svg_fits(svg, words, label))
            lab_svg_text(svg, words, label);
    }
    lab_svg_line(svg, frame->left, frame->bottom, frame->right, frame->bottom, LAB_axis, 1, "");
    lab_svg_line(svg, frame->left, TOP, frame->left, frame->bottom, LAB_axis, 1, "");
    lab_svg_text(svg, (lab_words){.x = (frame->left + frame->right) / 2, .y = frame->bottom + 36, .size = SIZE,
                                  .colour = LAB_soft, .anchor = LAB_MIDDLE}, x_unit);
    lab_svg_text_up(svg, (lab_words){.x = 11, .y = (TOP + frame->bottom) / 2, .size = size, .colour = LAB_soft,
                                     .anchor = LAB_MIDDLE}, "GFLOPS");
}

/* ---- Ceilings --------------------------------------------------------------------------------------- */

/* Words beside a line: above it, where nothing is drawn, and to its left if it rises; else below it. The first place along
 * it that is free is taken, from its right end on if it is flat. */
static void name_line(lab_svg *svg, const frame *frame, lab_box line, const char *label)
{
    enum { PLACES = 16 };
    double slope = line.width > 0 ? line.height / line.width : 0, width = lab_text_width(label, SIZE);
    for (int i = 0; i < 2 * PLACES; i++) {
        bool is_flat = slope == 0, is_above = i < PLACES;
        double part = (double)(i % PLACES) / PLACES, x = line.x + line.width * (is_flat ? 1 - part : part);
        lab_words words = {.x = is_above ? x - 4 : x + 6, .y = line.y + slope * (x - line.x) + (is_above ? -6 : 16), .size = SIZE,
                           .anchor = is_above || is_flat ? LAB_END : LAB_START, .colour = LAB_ink, .halo = true};
        double left = words.anchor == LAB_END ? words.x - width : words.x;
        bool is_inside = left > frame->left + 2 && left + width < frame->right && words.y > TOP + 9 && words.y < frame->bottom - 4;
        if (is_inside && lab_svg_fits(svg, words, label)) {
            lab_svg_text(svg, words, label);
            return;
        }
    }
}

static double highest_gflops(const lab_roofline *roofline)
{
    double highest = 0;
    for (int i = 0; i < roofline->ceiling_count; i++)
        highest = fmax(highest, roofline->ceilings[i].gflops);
    return highest;
}

/* What memory gives, up to the highest of the processor's. */
static void draw_slope(lab_svg *svg, const frame *frame, const lab_ceiling *ceiling, double highest)
{
    double low = fmax(frame->x.low, frame->y.low / ceiling->gb_s);
    double high = fmin(frame->x.high, (highest > 0 ? highest : frame->y.high) / ceiling->gb_s);
    if (!(high > low))
        return;
    double x1 = lab_axis_at(&frame->x, low), y1 = lab_axis_at(&frame->y, low * ceiling->gb_s);
    double x2 = lab_axis_at(&frame->x, high), y2 = lab_axis_at(&frame->y, high * ceiling->gb_s);
    lab_svg_line(svg, x1, y1, x2, y2, LAB_roof, 1.5, "6 4");
    name_line(svg, frame, (lab_box){x1, y1, x2 - x1, y2 - y1}, ceiling->label);
}

static void draw_flat(lab_svg *svg, const frame *frame, const lab_roofline *roofline, const lab_ceiling *ceiling)
{
    double low = frame->x.low, steepest = 0;
    for (int i = 0; i < roofline->ceiling_count; i++)
        steepest = fmax(steepest, roofline->ceilings[i].gb_s);
    if (steepest > 0)
        low = fmax(low, ceiling->gflops / steepest);
    if (low >= frame->x.high)
        low = frame->x.low;
    double x = lab_axis_at(&frame->x, low), y = lab_axis_at(&frame->y, ceiling->gflops);
    lab_svg_line(svg, x, y, frame->right, y, LAB_roof, 2, "");
    name_line(svg, frame, (lab_box){x, y, frame->right - x, 0}, ceiling->label);
}

static void draw_ceilings(lab_svg *svg, const frame *frame, const lab_roofline *roofline)
{
    double highest = highest_gflops(roofline);
    for (int i = 0; i < roofline->ceiling_count; i++)
        if (roofline->ceilings[i].gflops > 0)
            draw_flat(svg, frame, roofline, &roofline->ceilings[i]);
    for (int i = 0; i < roofline->ceiling_count; i++)
        if (roofline->ceilings[i].gb_s > 0)
            draw_slope(svg, frame, &roofline->ceilings[i], highest);
}

/* ---- Points ----------------------------------------------------------------------------------------- */

/* Beside its point, where there is room; the legend has its whole name anyhow. */
static void name_point(lab_svg *svg, double x, double y, const char *label)
{
    static const struct { double x, y; lab_anchor anchor; } places[] = {
        {8, 4, LAB_START}, {-8, 4, LAB_END}, {0, -9, LAB_MIDDLE}, {0, 18, LAB_MIDDLE}, {8, -6, LAB_START}, {8, 14, LAB_START},
        {-8, -6, LAB_END}, {-8, 14, LAB_END}};
    for (size_t i = 0; *label && i < sizeof places / sizeof *places; i++) {
        lab_words words = {.x = x + places[i].x, .y = y + places[i].y, .size = 11, .colour = LAB_ink,
                           .anchor = places[i].anchor, .halo = true};
        if (lab_svg_fits(svg, words, label)) {
            lab_svg_text(svg, words, label);
            return;
        }
    }
}

static int gather_keys(const lab_roofline *roofline, lab_key keys[KEYS_MAX])
{
    int count = 0;
    for (int i = 0; i < roofline->count; i++) {
        bool is_known = false;
        for (int j = 0; j < count; j++)
            is_known = is_known || strcmp(keys[j].label, roofline->list[i].label) == 0;
        if (!is_known && count < KEYS_MAX)
            keys[count++] = (lab_key){roofline->list[i].label, roofline->list[i].mark, false};
    }
    return count;
}

void lab_draw_roofline(lab_svg *svg, const void *data)
{
    const lab_roofline *roofline = data;
    frame frame = lay_out(svg, roofline);
    lab_key keys[KEYS_MAX];
    draw_grid(svg, &frame, roofline->x_unit);
    draw_ceilings(svg, &frame, roofline);
    for (int i = 0; i < roofline->count; i++) /* no words on points */
        if (svg->text_count < LAB_TEXTS_MAX && *roofline->list[i].short_label)
            svg->texts[svg->text_count++] = (lab_box){lab_axis_at(&frame.x, roofline->list[i].intensity) - 4,
                                                      lab_axis_at(&frame.y, roofline->list[i].gflops) - 4, 8, 8};
    for (int i = 0; i < roofline->count; i++) {
        const lab_point *point = &roofline->list[i];
        double x = lab_axis_at(&frame.x, point->intensity), y = lab_axis_at(&frame.y, point->gflops);
        name_point(svg, x, y, point->short_label);
        lab_svg_marker(svg, x, y, 4.2, point->mark);
    }
    int count = gather_keys(roofline, keys);
    svg->height = lab_legend(svg, keys, count, svg->is_narrow ? 2 : frame.left - 10, frame.bottom + 50) + 6;
}
