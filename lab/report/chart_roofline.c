/* SPDX-License-Identifier: Apache-2.0 */
/* chart_roofline.c - draws speed over arithmetic intensity below the ceilings of memory and processor. */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_MARGIN = 12, KEYS_MAX = 64 };

lab_roofline_ceiling *lab_roofline_add_ceiling(lab_roofline *roofline, const char *name, double gflops, double gb_s)
{
    if (roofline->ceiling_count == LAB_CEILINGS_MAX)
        return NULL;
    lab_roofline_ceiling *ceiling = &roofline->ceilings[roofline->ceiling_count++];
    *ceiling = (lab_roofline_ceiling){.gflops = gflops, .gb_s = gb_s};
    snprintf(ceiling->label, sizeof ceiling->label, "%.60s %s %s", name, lab_short_number(gflops + gb_s).text,
             gb_s > 0 ? "GB/s" : "GFLOPS");
    return ceiling;
}

static double above_zero(double value)
{
    return value > 1e-30 ? value : 1e-30;
}

/* Computes a frame around all points and the knee of the slowest memory, with margins. */
static lab_chart_frame compute_roofline_frame(const lab_svg *svg, const lab_roofline *roofline)
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
    for (int i = 0; i < roofline->ceiling_count; i++) /* faster memories are shown as far as they reach */
        if (roofline->ceilings[i].gb_s > 0 && (slowest == 0 || roofline->ceilings[i].gb_s < slowest))
            slowest = roofline->ceilings[i].gb_s;
    if (slowest > 0)
        low_x = fmin(low_x, fmax(high_y / slowest, low_x / 1e3) / 6);
    lab_chart_frame frame = {
        .right = svg->width - 12, .top = TOP_MARGIN, .bottom = TOP_MARGIN + (svg->is_narrow ? 280.0 : 380.0)};
    frame.y = lab_axis_log(low_y / 1.8, above_zero(high_y) * 1.7, frame.bottom, TOP_MARGIN);
    frame.left = lab_y_axis_width(svg, &frame.y);
    frame.x = lab_axis_log(low_x / 1.5, above_zero(high_x) * 1.8, frame.left, frame.right);
    return frame;
}

static void draw_grid(lab_svg *svg, const lab_chart_frame *frame, const char *x_unit)
{
    double ticks[LAB_TICKS_MAX];
    lab_text_style style = lab_tick_style(LAB_ANCHOR_MIDDLE);
    lab_draw_y_ticks(svg, frame, 6);
    int count = lab_axis_ticks(&frame->x, svg->is_narrow ? 5 : 10, ticks);
    for (int i = 0; i < count; i++) {
        lab_formatted label = lab_tick_number(ticks[i]);
        double x = lab_axis_position(&frame->x, ticks[i]);
        double center = fmin(x, svg->width - lab_svg_text_width(label.text, LAB_FONT_SIZE) / 2);
        lab_svg_line(svg, x, TOP_MARGIN, x, frame->bottom, LAB_COLOUR_rule, 1, "");
        if (lab_svg_text_fits(svg, center, frame->bottom + 18, style, label.text))
            lab_svg_text(svg, center, frame->bottom + 18, style, label.text);
    }
    lab_svg_line(svg, frame->left, frame->bottom, frame->right, frame->bottom, LAB_COLOUR_axis, 1, "");
    lab_svg_line(svg, frame->left, TOP_MARGIN, frame->left, frame->bottom, LAB_COLOUR_axis, 1, "");
    lab_draw_x_unit(svg, frame, x_unit);
    lab_draw_y_unit(svg, frame, "GFLOPS");
}

/* ---- Ceilings ---- */

/* Writes a label above a horizontal line, or below it, at the first free position from its right end. */
static void draw_flat_label(lab_svg *svg, const lab_chart_frame *frame, double x, double y, const char *label)
{
    enum { LABEL_POSITIONS = 16 };
    double width = lab_svg_text_width(label, LAB_FONT_SIZE);
    lab_text_style style = lab_label_style(LAB_ANCHOR_END);
    style.has_halo = true;
    for (int i = 0; i < 2 * LABEL_POSITIONS; i++) {
        double end = frame->right - 4 - (frame->right - x) * (i % LABEL_POSITIONS) / LABEL_POSITIONS;
        double label_y = y + (i < LABEL_POSITIONS ? -6 : 16);
        if (end - width > frame->left + 2 && label_y > TOP_MARGIN + 9 &&
            lab_svg_text_fits(svg, end, label_y, style, label)) {
            lab_svg_text(svg, end, label_y, style, label);
            return;
        }
    }
}

/* Writes a label along a slope, above it, at the first free position from its lower end. */
static void draw_slope_label(lab_svg *svg, const double x[2], const double y[2], const char *label)
{
    enum { LABEL_POSITIONS = 12 };
    double dx = x[1] - x[0], dy = y[1] - y[0], angle = atan2(dy, dx), room = hypot(dx, dy) - 12;
    double width = lab_svg_text_width(label, LAB_FONT_SIZE);
    lab_text_style style = lab_label_style(LAB_ANCHOR_START);
    style.has_halo = true;
    for (int i = 0; i < LABEL_POSITIONS && width < room; i++) {
        double part = (8 + (room - width) * i / LABEL_POSITIONS) / hypot(dx, dy);
        if (lab_svg_text_rotated(svg, x[0] + part * dx + 6 * sin(angle), y[0] + part * dy - 6 * cos(angle), style,
                                 angle * 180 / 3.14159265358979, label))
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

/* Finds both ends of a memory ceiling, up to the highest ceiling of the processor. Returns false if the ceiling is not
 * in the picture. */
static bool find_slope(const lab_chart_frame *frame, const lab_roofline_ceiling *ceiling, double highest, double x[2],
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

/* Returns where a ceiling of the processor begins: at the steepest slope. */
static double flat_start(const lab_chart_frame *frame, const lab_roofline *roofline,
                         const lab_roofline_ceiling *ceiling)
{
    double steepest = 0, low = frame->x.low;
    for (int i = 0; i < roofline->ceiling_count; i++)
        steepest = fmax(steepest, roofline->ceilings[i].gb_s);
    if (steepest > 0)
        low = fmax(low, ceiling->gflops / steepest);
    return lab_axis_position(&frame->x, low < frame->x.high ? low : frame->x.low);
}

/* Draws all lines before the labels, so that no line crosses a label. */
static void draw_ceilings(lab_svg *svg, const lab_chart_frame *frame, const lab_roofline *roofline)
{
    double highest = highest_gflops(roofline), x[2] = {0}, y[2] = {0};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < roofline->ceiling_count; i++) {
            const lab_roofline_ceiling *ceiling = &roofline->ceilings[i];
            double start = flat_start(frame, roofline, ceiling), height = lab_axis_position(&frame->y, ceiling->gflops);
            bool is_slope = find_slope(frame, ceiling, highest, x, y);
            if (ceiling->gflops > 0 && pass == 0)
                lab_svg_line(svg, start, height, frame->right, height, LAB_COLOUR_roof, 2, "");
            else if (ceiling->gflops > 0)
                draw_flat_label(svg, frame, start, height, ceiling->label);
            else if (is_slope && pass == 0)
                lab_svg_line(svg, x[0], y[0], x[1], y[1], LAB_COLOUR_roof, 1.5, "6 4");
            else if (is_slope)
                draw_slope_label(svg, x, y, ceiling->label);
        }
}

/* ---- Points ---- */

/* Writes a label beside its point if there is room; the legend has the full name. */
static void draw_point_label(lab_svg *svg, double x, double y, const char *label)
{
    static const struct {
        double x, y;
        lab_anchor anchor;
    } offsets[] = {{8, 4, LAB_ANCHOR_START},   {-8, 4, LAB_ANCHOR_END},   {0, -9, LAB_ANCHOR_MIDDLE},
                   {0, 18, LAB_ANCHOR_MIDDLE}, {8, -6, LAB_ANCHOR_START}, {8, 14, LAB_ANCHOR_START},
                   {-8, -6, LAB_ANCHOR_END},   {-8, 14, LAB_ANCHOR_END}};
    for (size_t i = 0; *label && i < sizeof offsets / sizeof *offsets; i++) {
        lab_text_style style = {.size = 11, .colour = LAB_COLOUR_ink, .anchor = offsets[i].anchor, .has_halo = true};
        if (lab_svg_text_fits(svg, x + offsets[i].x, y + offsets[i].y, style, label)) {
            lab_svg_text(svg, x + offsets[i].x, y + offsets[i].y, style, label);
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
    lab_chart_frame frame = compute_roofline_frame(svg, roofline);
    lab_legend_entry keys[KEYS_MAX];
    draw_grid(svg, &frame, roofline->x_unit);
    for (int i = 0; i < roofline->count; i++) /* labels must not cover points */
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
