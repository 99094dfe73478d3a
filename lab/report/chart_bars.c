/* SPDX-License-Identifier: Apache-2.0 */
/* chart_bars.c - horizontal bars: GFLOPS of kernels, and the parts of a time.
 *
 * Bars are horizontal so that names are readable. At the width of a phone a name is above its bar. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

enum { FONT_SIZE = 12, LIMIT_ROW = 18 };

/* The layout of both kinds of bars. */
typedef struct layout {
    double label, left, right; /* the widest label; the bars' both ends */
    double pitch, thick, drop; /* from bar to bar; a bar's height; where in the pitch it begins */
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
    char label[LAB_LABEL_MAX + 8];
    lab_svg_text_truncate(text, FONT_SIZE, layout->label, label, sizeof label);
    if (svg->is_narrow)
        lab_svg_text(
            svg, (lab_text_style){.x = 1, .y = top + 13, .size = FONT_SIZE, .colour = LAB_COLOUR_ink, .has_halo = true},
            label);
    else
        lab_svg_text(svg,
                     (lab_text_style){.x = layout->label,
                                      .y = top + layout->drop + 13,
                                      .size = FONT_SIZE,
                                      .colour = LAB_COLOUR_ink,
                                      .anchor = LAB_ANCHOR_END},
                     label);
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
        char label[32];
        double x = lab_axis_position(axis, ticks[i]);
        lab_format_tick(ticks[i], label, sizeof label);
        double half = lab_svg_text_width(label, FONT_SIZE) / 2, at = fmin(fmax(x, half), svg->width - half);
        lab_svg_line(svg, x, top, x, bottom, i == 0 ? LAB_COLOUR_axis : LAB_COLOUR_rule, 1, "");
        if (at - half < ends + 8)
            continue;
        lab_svg_text(
            svg,
            (lab_text_style){
                .x = at, .y = bottom + 16, .size = FONT_SIZE, .colour = LAB_COLOUR_soft, .anchor = LAB_ANCHOR_MIDDLE},
            label);
        ends = at + half;
    }
    lab_svg_text(svg,
                 (lab_text_style){.x = (axis->from + axis->to) / 2,
                                  .y = bottom + 34,
                                  .size = FONT_SIZE,
                                  .colour = LAB_COLOUR_soft,
                                  .anchor = LAB_ANCHOR_MIDDLE},
                 unit);
}

/* A row each above the bars, so that they never meet. */
static void draw_limits(lab_svg *svg, const lab_bars *bars, const lab_axis *axis, double bottom)
{
    for (int i = 0; i < bars->limit_count; i++) {
        const lab_limit_line *limit = &bars->limits[i];
        double x = lab_axis_position(axis, limit->value), y = LIMIT_ROW * i + 12;
        bool is_right = x > svg->width / 2, is_beyond = limit->value > axis->high * 1.0001;
        char label[LAB_LABEL_MAX + 8], words[LAB_LABEL_MAX + 8];
        snprintf(words, sizeof words, "%s%s", limit->label, is_beyond ? " \xe2\x86\x92" : "");
        lab_svg_text_truncate(words, FONT_SIZE, (is_right ? x : svg->width - x) - 8, label, sizeof label);
        if (!is_beyond)
            lab_svg_line(svg, x, y - 10, x, bottom, limit->colour, 1.5, "5 4");
        lab_svg_text(svg,
                     (lab_text_style){.x = is_right ? x - 6 : x + 6,
                                      .y = y,
                                      .size = FONT_SIZE,
                                      .colour = LAB_COLOUR_ink,
                                      .anchor = is_right ? LAB_ANCHOR_END : LAB_ANCHOR_START,
                                      .has_halo = true},
                     label);
    }
}

/* In paper on the bar, in ink beyond it: to be seen on both. */
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

static void draw_bar(lab_svg *svg, const bar_layout_t *layout, const lab_axis *axis, const lab_bar *bar, double top)
{
    char value[32];
    double y = top + layout->drop, end = lab_axis_position(axis, bar->value);
    lab_box box = {axis->from, y, fmax(end - axis->from, 1.5), layout->thick};
    lab_svg_rect(svg, box, bar->mark.colour, 2);
    if (bar->mark.is_hollow && box.width > 8) /* another's: a lighter heart tells it without its colour */
        lab_svg_rect(svg, (lab_box){box.x + 2.5, box.y + 2.5, box.width - 5, box.height - 5}, LAB_COLOUR_paper, 1);
    draw_interval(svg, axis, bar, y + layout->thick / 2);
    lab_format_short(bar->value, value, sizeof value);
    lab_svg_text(svg,
                 (lab_text_style){.x = fmax(end, lab_axis_position(axis, bar->high)) + 7,
                                  .y = y + layout->thick / 2 + 4.5,
                                  .size = FONT_SIZE,
                                  .colour = LAB_COLOUR_ink,
                                  .is_bold = true,
                                  .has_halo = true},
                 value);
}

void lab_draw_bars(lab_svg *svg, const void *data)
{
    const lab_bars *bars = data;
    double widest = 0, value_width = 0, top = LIMIT_ROW * bars->limit_count + 8.0;
    for (int i = 0; i < bars->count; i++) {
        char value[32];
        lab_format_short(bars->list[i].value, value, sizeof value);
        widest = fmax(widest, lab_svg_text_width(bars->list[i].label, FONT_SIZE));
        value_width = fmax(value_width, 1.08 * lab_svg_text_width(value, FONT_SIZE));
    }
    bar_layout_t layout = compute_bar_layout(svg, widest, value_width);
    double bottom = top + bars_height(bars, &layout) + 4;
    lab_axis axis = lab_axis_linear(highest_of(bars), layout.left, layout.right);
    draw_value_axis(svg, &axis, top, bottom, bars->unit);
    draw_limits(svg, bars, &axis, bottom);
    for (int i = 0; i < bars->count; i++) {
        double heading = heading_height(&bars->list[i], i == 0);
        if (heading > 0) {
            char text[LAB_LABEL_MAX + 8];
            double x = svg->is_narrow ? 1 : layout.left;
            lab_svg_text_truncate(bars->list[i].heading, FONT_SIZE, (svg->width - x) / 1.1, text, sizeof text);
            lab_svg_text(svg,
                         (lab_text_style){.x = x,
                                          .y = top + heading - 8,
                                          .size = FONT_SIZE,
                                          .colour = LAB_COLOUR_soft,
                                          .is_bold = true,
                                          .has_halo = true},
                         text);
        }
        draw_bar(svg, &layout, &axis, &bars->list[i], top + heading);
        draw_label(svg, &layout, top + heading, bars->list[i].label);
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
    lab_svg_text(
        svg,
        (lab_text_style){
            .x = layout->right + 7, .y = box.y + layout->thick / 2 + 4.5, .size = FONT_SIZE, .colour = LAB_COLOUR_ink},
        bar->total);
}

void lab_draw_stacked_bars(lab_svg *svg, const void *data)
{
    const lab_stacked_bars *parts = data;
    lab_legend_entry keys[LAB_STACKED_PARTS_MAX];
    double widest = 0, total = 0;
    for (int i = 0; i < parts->count; i++) {
        widest = fmax(widest, lab_svg_text_width(parts->list[i].label, FONT_SIZE));
        total = fmax(total, lab_svg_text_width(parts->list[i].total, FONT_SIZE));
    }
    for (int i = 0; i < parts->name_count; i++)
        keys[i] = (lab_legend_entry){parts->names[i], part_markers[i], false, ""};
    bar_layout_t layout = compute_bar_layout(svg, widest, total);
    double top = lab_draw_legend(svg, keys, parts->name_count, svg->is_narrow ? 1 : layout.left - 6, 0) + 8;
    double bottom = top + layout.pitch * parts->count + 4;
    lab_axis axis = {.low = 0, .high = 100, .from = layout.left, .to = layout.right};
    draw_value_axis(svg, &axis, top, bottom, "per cent of the parts' sum");
    for (int i = 0; i < parts->count; i++, top += layout.pitch) {
        draw_part_bar(svg, &layout, &axis, &parts->list[i], top);
        draw_label(svg, &layout, top, parts->list[i].label);
    }
    svg->height = bottom + 42;
}
