/* SPDX-License-Identifier: Apache-2.0 */
/* chart_bars.c - horizontal bars: GFLOPS of kernels, and the parts of a time.
 *
 * Bars are horizontal so that names are readable. At the width of a phone a name is above its bar. */
#include "report/chart.h"

#include <math.h>

enum { LIMIT_ROW = 18 };

/* The layout of both kinds of bars. */
typedef struct bar_layout {
    double label, left, right; /* the widest label; both ends of the bars */
    double pitch, thick, drop; /* distance between bars; height of a bar; offset of a bar in the pitch */
} bar_layout_t;

static bar_layout_t compute_bar_layout(const lab_svg *svg, double widest_label, double widest_value)
{
    bar_layout_t layout = {
        .pitch = svg->is_narrow ? 40 : 26, .thick = svg->is_narrow ? 16 : 18, .drop = svg->is_narrow ? 19 : 4};
    layout.label = svg->is_narrow ? svg->width - 2 : fmin(widest_label, 0.42 * svg->width);
    layout.left = svg->is_narrow ? 1 : layout.label + 12;
    layout.right = fmax(svg->width - widest_value - 10, layout.left + 60);
    return layout;
}

static void draw_label(lab_svg *svg, const bar_layout_t *layout, double top, const char *text)
{
    lab_text_style style = lab_label_style(svg->is_narrow ? LAB_ANCHOR_START : LAB_ANCHOR_END);
    style.has_halo = svg->is_narrow;
    lab_svg_text_within(svg, svg->is_narrow ? 1 : layout->label, top + (svg->is_narrow ? 0 : layout->drop) + 13, style,
                        layout->label, text);
}

/* ---- Bars ---- */

static double heading_height(const lab_bar *bar, bool is_first)
{
    return !*bar->heading ? 0 : is_first ? 26 : 36;
}

static double bars_height(const lab_bars *bars, const bar_layout_t *layout)
{
    double height = 0;
    for (int i = 0; i < bars->count; i++)
        height += layout->pitch + heading_height(&bars->list[i], i == 0);
    return height;
}

/* Returns the largest value of the axis. A limit far beyond all bars is drawn at the edge; otherwise the bars would
 * be too short to compare. */
static double highest_of(const lab_bars *bars)
{
    double highest = 0, with_limits;
    for (int i = 0; i < bars->count; i++)
        highest = fmax(highest, fmax(bars->list[i].value, bars->list[i].high));
    with_limits = highest;
    for (int i = 0; i < bars->limit_count; i++)
        if (bars->limits[i].value < 2 * highest)
            with_limits = fmax(with_limits, bars->limits[i].value);
    return with_limits;
}

static void draw_value_axis(lab_svg *svg, const lab_axis *axis, double top, double bottom, const char *unit)
{
    double ticks[LAB_TICKS_MAX], ends = -1e9;
    int count = lab_axis_ticks(axis, svg->is_narrow ? 4 : 8, ticks);
    for (int i = 0; i < count; i++) {
        lab_formatted label = lab_tick_number(ticks[i]);
        double x = lab_axis_position(axis, ticks[i]), half = lab_svg_text_width(label.text, LAB_FONT_SIZE) / 2;
        double center = fmin(fmax(x, half), svg->width - half);
        lab_svg_line(svg, x, top, x, bottom, i == 0 ? LAB_COLOUR_axis : LAB_COLOUR_rule, 1, "");
        if (center - half < ends + 8)
            continue;
        lab_svg_text(svg, center, bottom + 16, lab_tick_style(LAB_ANCHOR_MIDDLE), label.text);
        ends = center + half;
    }
    lab_svg_text(svg, (axis->from + axis->to) / 2, bottom + 34, lab_tick_style(LAB_ANCHOR_MIDDLE), unit);
}

/* Draws each limit with its label in its own row above the bars, so that labels never overlap. */
static void draw_limits(lab_svg *svg, const lab_bars *bars, const lab_axis *axis, double bottom)
{
    for (int i = 0; i < bars->limit_count; i++) {
        const lab_limit_line *limit = &bars->limits[i];
        double x = lab_axis_position(axis, limit->value), y = LIMIT_ROW * i + 12;
        bool is_right = x > svg->width / 2, is_beyond = limit->value > axis->high * 1.0001;
        char label[LAB_LABEL_MAX + 8];
        lab_text_style style = lab_label_style(is_right ? LAB_ANCHOR_END : LAB_ANCHOR_START);
        style.has_halo = true;
        snprintf(label, sizeof label, "%s%s", limit->label, is_beyond ? " \xe2\x86\x92" : "");
        if (!is_beyond)
            lab_svg_line(svg, x, y - 10, x, bottom, limit->colour, 1.5, "5 4");
        lab_svg_text_within(svg, is_right ? x - 6 : x + 6, y, style, (is_right ? x : svg->width - x) - 8, label);
    }
}

/* Draws the interval in the paper colour on the bar and in ink beyond the bar, so that both parts are visible. */
static void draw_interval(lab_svg *svg, const lab_axis *axis, const lab_bar *bar, double y)
{
    double low = lab_axis_position(axis, bar->low), high = lab_axis_position(axis, bar->high),
           end = lab_axis_position(axis, bar->value);
    lab_chart_colour inside = bar->mark.is_hollow ? LAB_COLOUR_ink : LAB_COLOUR_paper;
    if (!(bar->high > bar->low) || high - low < 2)
        return;
    lab_svg_line(svg, low, y, end, y, inside, 1.3, "");
    lab_svg_line(svg, low, y - 4, low, y + 4, inside, 1.3, "");
    lab_svg_line(svg, end, y, high, y, LAB_COLOUR_ink, 1.3, "");
    lab_svg_line(svg, high, y - 4, high, y + 4, LAB_COLOUR_ink, 1.3, "");
}

static lab_text_style bold_style(lab_chart_colour colour)
{
    return (lab_text_style){.size = LAB_FONT_SIZE, .colour = colour, .is_bold = true, .has_halo = true};
}

static void draw_bar(lab_svg *svg, const bar_layout_t *layout, const lab_axis *axis, const lab_bar *bar, double top)
{
    double y = top + layout->drop, end = lab_axis_position(axis, bar->value);
    lab_box box = {axis->from, y, fmax(end - axis->from, 1.5), layout->thick};
    lab_svg_rect(svg, box, bar->mark.colour, 2);
    if (bar->mark.is_hollow && box.width > 8) /* other libraries are recognizable without colours */
        lab_svg_rect(svg, (lab_box){box.x + 2.5, box.y + 2.5, box.width - 5, box.height - 5}, LAB_COLOUR_paper, 1);
    draw_interval(svg, axis, bar, y + layout->thick / 2);
    lab_svg_text(svg, fmax(end, lab_axis_position(axis, bar->high)) + 7, y + layout->thick / 2 + 4.5,
                 bold_style(LAB_COLOUR_ink), lab_short_number(bar->value).text);
}

void lab_draw_bars(lab_svg *svg, const void *data)
{
    const lab_bars *bars = data;
    double widest = 0, value_width = 0, top = LIMIT_ROW * bars->limit_count + 8.0;
    for (int i = 0; i < bars->count; i++) {
        lab_formatted value = lab_short_number(bars->list[i].value);
        widest = fmax(widest, lab_svg_text_width(bars->list[i].label, LAB_FONT_SIZE));
        value_width = fmax(value_width, 1.08 * lab_svg_text_width(value.text, LAB_FONT_SIZE));
    }
    bar_layout_t layout = compute_bar_layout(svg, widest, value_width);
    double bottom = top + bars_height(bars, &layout) + 4, heading_x = svg->is_narrow ? 1 : layout.left;
    lab_axis axis = lab_axis_linear(highest_of(bars), layout.left, layout.right);
    draw_value_axis(svg, &axis, top, bottom, bars->unit);
    draw_limits(svg, bars, &axis, bottom);
    for (int i = 0; i < bars->count; i++) {
        const lab_bar *bar = &bars->list[i];
        double heading = heading_height(bar, i == 0);
        lab_svg_text_within(svg, heading_x, top + heading - 8, bold_style(LAB_COLOUR_soft),
                            (svg->width - heading_x) / 1.1, bar->heading);
        draw_bar(svg, &layout, &axis, bar, top + heading);
        draw_label(svg, &layout, top + heading, bar->label);
        top += layout.pitch + heading;
    }
    svg->height = bottom + 42;
}

/* ---- Parts of a whole ---- */

static const lab_marker part_markers[LAB_STACKED_PARTS_MAX] = {{LAB_COLOUR_cool3, 1, false},
                                                               {LAB_COLOUR_cool5, 1, false},
                                                               {LAB_COLOUR_warm1, 1, false},
                                                               {LAB_COLOUR_cool0, 1, false}};

static double sum_of(const lab_stacked_bar *bar)
{
    double sum = 0;
    for (int i = 0; i < LAB_STACKED_PARTS_MAX; i++)
        sum += fmax(bar->parts[i], 0);
    return sum;
}

static void draw_part_bar(lab_svg *svg, const bar_layout_t *layout, const lab_axis *axis, const lab_stacked_bar *bar,
                          double top)
{
    double sum = sum_of(bar), before = 0;
    lab_box box = {.y = top + layout->drop, .height = layout->thick};
    for (int i = 0; i < LAB_STACKED_PARTS_MAX && sum > 0; i++) {
        double share = 100 * (fmax(bar->parts[i], 0) / sum);
        box.x = lab_axis_position(axis, before);
        box.width = lab_axis_position(axis, before + share) - box.x;
        if (share > 0)
            lab_svg_rect(svg, (lab_box){box.x, box.y, fmax(box.width - 1, 1), box.height}, part_markers[i].colour, 0);
        before += share;
    }
    lab_svg_text(svg, layout->right + 7, box.y + layout->thick / 2 + 4.5, lab_label_style(LAB_ANCHOR_START),
                 bar->total);
}

void lab_draw_stacked_bars(lab_svg *svg, const void *data)
{
    const lab_stacked_bars *parts = data;
    lab_legend_entry keys[LAB_STACKED_PARTS_MAX];
    double widest = 0, total = 0;
    for (int i = 0; i < parts->count; i++) {
        widest = fmax(widest, lab_svg_text_width(parts->list[i].label, LAB_FONT_SIZE));
        total = fmax(total, lab_svg_text_width(parts->list[i].total, LAB_FONT_SIZE));
    }
    for (int i = 0; i < LAB_STACKED_PARTS_MAX; i++)
        keys[i] = (lab_legend_entry){parts->names[i], part_markers[i], false, ""};
    bar_layout_t layout = compute_bar_layout(svg, widest, total);
    double top = lab_draw_legend(svg, keys, LAB_STACKED_PARTS_MAX, svg->is_narrow ? 1 : layout.left - 6, 0) + 8;
    double bottom = top + layout.pitch * parts->count + 4;
    lab_axis axis = {.low = 0, .high = 100, .from = layout.left, .to = layout.right};
    draw_value_axis(svg, &axis, top, bottom, "per cent of the parts' sum");
    for (int i = 0; i < parts->count; i++, top += layout.pitch) {
        draw_part_bar(svg, &layout, &axis, &parts->list[i], top);
        draw_label(svg, &layout, top, parts->list[i].label);
    }
    svg->height = bottom + 42;
}
