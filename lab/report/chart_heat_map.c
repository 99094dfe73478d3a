/* SPDX-License-Identifier: Apache-2.0 */
/* chart_heat_map.c - draws the best value for each pair of values of two parameters: faster cells are darker on a
 * light page and lighter on a dark one. */
#include "report/chart.h"

#include <math.h>

enum { CELL_HEIGHT = 34 };

static void find_range(const lab_heat_map *heat, double *low, double *high)
{
    *low = 1e300;
    *high = 0;
    for (int y = 0; y < heat->y->count; y++)
        for (int x = 0; x < heat->x->count; x++)
            if (heat->cells[y][x] > 0) {
                *low = fmin(*low, heat->cells[y][x]);
                *high = fmax(*high, heat->cells[y][x]);
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
    lab_box inner = {box.x + 1, box.y + 1, box.width - 2, box.height - 2};
    if (!(value > 0)) {
        lab_svg_rect(svg, inner, LAB_COLOUR_card, 2);
        return;
    }
    int level = level_of(value, low, high);
    lab_svg_rect(svg, inner, (lab_chart_colour)(LAB_COLOUR_heat0 + level), 2);
    if (value == high)
        lab_svg_frame(svg, inner, LAB_COLOUR_warm0);
    lab_formatted label = lab_short_number(value);
    lab_text_style style = {.size = LAB_FONT_SIZE,
                            .colour = (lab_chart_colour)(LAB_COLOUR_on0 + level),
                            .anchor = LAB_ANCHOR_MIDDLE,
                            .is_bold = value == high};
    if (lab_svg_text_width(label.text, LAB_FONT_SIZE) < box.width - 4)
        lab_svg_text(svg, box.x + box.width / 2, box.y + box.height / 2 + 4.5, style, label.text);
}

static lab_text_style name_style(void)
{
    lab_text_style style = lab_tick_style(LAB_ANCHOR_MIDDLE);
    style.is_bold = true;
    return style;
}

static double draw_row_labels(lab_svg *svg, const lab_heat_map *heat, double top)
{
    double widest = 0;
    for (int i = 0; i < heat->y->count; i++)
        widest = fmax(widest, lab_svg_text_width(heat->y->values[i], LAB_FONT_SIZE));
    widest = fmin(widest, svg->width / 3);
    for (int i = 0; i < heat->y->count; i++)
        lab_svg_text_within(svg, widest + 22, top + CELL_HEIGHT * (i + 0.5) + 4, lab_label_style(LAB_ANCHOR_END),
                            widest, heat->y->values[i]);
    lab_svg_text_vertical(svg, 11, top + CELL_HEIGHT * heat->y->count / 2.0, name_style(), heat->y->name);
    return widest + 30;
}

/* Draws the colour scale. Returns the y of its end. */
static double draw_scale(lab_svg *svg, double left, double top, double low, double high)
{
    lab_formatted lowest = lab_short_number(low);
    char highest[48];
    double x = left + (lab_svg_text_width(lowest.text, LAB_FONT_SIZE) + 8);
    lab_svg_text(svg, left, top + 12, lab_tick_style(LAB_ANCHOR_START), lowest.text);
    for (int i = 0; i < LAB_COLOUR_HEAT_COUNT; i++, x += 18)
        lab_svg_rect(svg, (lab_box){x, top + 2, 17, 12}, (lab_chart_colour)(LAB_COLOUR_heat0 + i), 0);
    snprintf(highest, sizeof highest, "%s GFLOPS", lab_short_number(high).text);
    lab_svg_text(svg, x + 6, top + 12, lab_tick_style(LAB_ANCHOR_START), highest);
    return top + 30;
}

void lab_draw_heat_map(lab_svg *svg, const void *data)
{
    const lab_heat_map *heat = data;
    double low, high;
    find_range(heat, &low, &high);
    double top = draw_scale(svg, 2, 4, fmin(low, high), high);
    double left = draw_row_labels(svg, heat, top), width = fmin((svg->width - left - 2) / heat->x->count, 110);
    double bottom = top + CELL_HEIGHT * heat->y->count;
    for (int y = 0; y < heat->y->count; y++)
        for (int x = 0; x < heat->x->count; x++)
            draw_cell(svg, (lab_box){left + width * x, top + CELL_HEIGHT * y, width, CELL_HEIGHT}, heat->cells[y][x],
                      low, high);
    for (int x = 0; x < heat->x->count; x++)
        lab_svg_text_within(svg, left + width * (x + 0.5), bottom + 17, lab_label_style(LAB_ANCHOR_MIDDLE), width - 4,
                            heat->x->values[x]);
    lab_svg_text(svg, left + width * heat->x->count / 2, bottom + 36, name_style(), heat->x->name);
    svg->height = bottom + 44;
}
