/* SPDX-License-Identifier: Apache-2.0 */
/* chart_heat_map.c - the best that was had for each pair of two parameters' values: darker is faster by day, lighter
 * by night, and the number says it. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

enum { FONT_SIZE = 12, CELL_HEIGHT = 34 };

static void find_range(const lab_heat_map *heat, double *low, double *high)
{
    *low = 1e300;
    *high = 0;
    for (int i = 0; i < heat->x_count * heat->y_count; i++)
        if (heat->cells[i] > 0) {
            *low = fmin(*low, heat->cells[i]);
            *high = fmax(*high, heat->cells[i]);
        }
}

static int level_of(double value, double low, double high)
{
    double part = high > low ? (value - low) / (high - low) : 1;
    int level = (int)(part * LAB_COLOUR_HEAT_COUNT);
    return level < 0 ? 0 : level >= LAB_COLOUR_HEAT_COUNT ? LAB_COLOUR_HEAT_COUNT - 1 : level;
}

static void draw_cell(lab_svg *svg, lab_box box, double value, double low, double high)
{
    char label[32];
    lab_box inner = {box.x + 1, box.y + 1, box.width - 2, box.height - 2};
    if (!(value > 0)) {
        lab_svg_rect(svg, inner, LAB_COLOUR_card, 2);
        return;
    }
    int level = level_of(value, low, high);
    lab_svg_rect(svg, inner, (lab_chart_colour)(LAB_COLOUR_heat0 + level), 2);
    if (value == high)
        lab_svg_frame(svg, inner, LAB_COLOUR_warm0);
    lab_format_short(value, label, sizeof label);
    if (lab_svg_text_width(label, FONT_SIZE) < box.width - 4)
        lab_svg_text(svg,
                     (lab_text_style){.x = box.x + box.width / 2,
                                      .y = box.y + box.height / 2 + 4.5,
                                      .size = FONT_SIZE,
                                      .colour = (lab_chart_colour)(LAB_COLOUR_on0 + level),
                                      .anchor = LAB_ANCHOR_MIDDLE,
                                      .is_bold = value == high},
                     label);
}

static double draw_row_labels(lab_svg *svg, const lab_heat_map *heat, double top)
{
    double widest = 0;
    for (int i = 0; i < heat->y_count; i++)
        widest = fmax(widest, lab_svg_text_width(heat->y_values[i], FONT_SIZE));
    widest = fmin(widest, svg->width / 3);
    for (int i = 0; i < heat->y_count; i++) {
        char label[LAB_LABEL_MAX];
        lab_svg_text_truncate(heat->y_values[i], FONT_SIZE, widest, label, sizeof label);
        lab_svg_text(svg,
                     (lab_text_style){.x = widest + 22,
                                      .y = top + CELL_HEIGHT * (i + 0.5) + 4,
                                      .size = FONT_SIZE,
                                      .colour = LAB_COLOUR_ink,
                                      .anchor = LAB_ANCHOR_END},
                     label);
    }
    lab_svg_text_vertical(svg,
                          (lab_text_style){.x = 11,
                                           .y = top + CELL_HEIGHT * heat->y_count / 2.0,
                                           .size = FONT_SIZE,
                                           .colour = LAB_COLOUR_soft,
                                           .anchor = LAB_ANCHOR_MIDDLE,
                                           .is_bold = true},
                          heat->y_name);
    return widest + 30;
}

static double draw_scale(lab_svg *svg, double left, double top, double low, double high)
{
    char text[32];
    double x = left;
    lab_format_short(low, text, sizeof text);
    lab_svg_text(svg, (lab_text_style){.x = x, .y = top + 12, .size = FONT_SIZE, .colour = LAB_COLOUR_soft}, text);
    x += lab_svg_text_width(text, FONT_SIZE) + 8;
    for (int i = 0; i < LAB_COLOUR_HEAT_COUNT; i++, x += 18)
        lab_svg_rect(svg, (lab_box){x, top + 2, 17, 12}, (lab_chart_colour)(LAB_COLOUR_heat0 + i), 0);
    lab_format_short(high, text, sizeof text);
    strcat(text, " GFLOPS");
    lab_svg_text(svg, (lab_text_style){.x = x + 6, .y = top + 12, .size = FONT_SIZE, .colour = LAB_COLOUR_soft}, text);
    return top + 30;
}

void lab_draw_heat_map(lab_svg *svg, const void *data)
{
    const lab_heat_map *heat = data;
    double low, high, top = 4;
    find_range(heat, &low, &high);
    top = draw_scale(svg, 2, top, fmin(low, high), high);
    double left = draw_row_labels(svg, heat, top), width = fmin((svg->width - left - 2) / heat->x_count, 110);
    double bottom = top + CELL_HEIGHT * heat->y_count;
    for (int y = 0; y < heat->y_count; y++)
        for (int x = 0; x < heat->x_count; x++)
            draw_cell(svg, (lab_box){left + width * x, top + CELL_HEIGHT * y, width, CELL_HEIGHT},
                      heat->cells[y * heat->x_count + x], low, high);
    for (int x = 0; x < heat->x_count; x++) {
        char label[LAB_LABEL_MAX];
        lab_svg_text_truncate(heat->x_values[x], FONT_SIZE, width - 4, label, sizeof label);
        lab_svg_text(svg,
                     (lab_text_style){.x = left + width * (x + 0.5),
                                      .y = bottom + 17,
                                      .size = FONT_SIZE,
                                      .colour = LAB_COLOUR_ink,
                                      .anchor = LAB_ANCHOR_MIDDLE},
                     label);
    }
    lab_svg_text(svg,
                 (lab_text_style){.x = left + width * heat->x_count / 2,
                                  .y = bottom + 36,
                                  .size = FONT_SIZE,
                                  .colour = LAB_COLOUR_soft,
                                  .anchor = LAB_ANCHOR_MIDDLE,
                                  .is_bold = true},
                 heat->x_name);
    svg->height = bottom + 44;
}
