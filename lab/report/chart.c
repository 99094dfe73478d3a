/* SPDX-License-Identifier: Apache-2.0 */
/* chart.c - shared by the charts: numbers, axes and legends; see chart.h. */
#include "report/chart.h"

#include <math.h>

static const double AXIS_MIN = 1e-300, AXIS_MAX = 1e300;

lab_formatted lab_short_number(double value)
{
    double size = fabs(value);
    const char *format = size == 0                    ? "%.0f"
                         : size >= 1e7 || size < 1e-3 ? "%.3g"
                         : size >= 99.95              ? "%.0f"
                         : size >= 9.995              ? "%.1f"
                         : size >= 0.9995             ? "%.2f"
                                                      : "%.3g";
    lab_formatted number;
    snprintf(number.text, sizeof number.text, format, value);
    return number;
}

lab_formatted lab_tick_number(double value)
{
    lab_formatted number;
    snprintf(number.text, sizeof number.text, value >= 1e4 && value < 1e7 ? "%.0f" : "%.4g", value);
    return number;
}

lab_text_style lab_label_style(lab_anchor anchor)
{
    return (lab_text_style){.size = LAB_FONT_SIZE, .anchor = anchor, .colour = LAB_COLOUR_ink};
}

lab_text_style lab_tick_style(lab_anchor anchor)
{
    return (lab_text_style){.size = LAB_FONT_SIZE, .anchor = anchor, .colour = LAB_COLOUR_soft};
}

/* ---- Axes ---- */

static double clamp(double value, double low, double high)
{
    return isfinite(value) ? fmin(fmax(value, low), high) : low;
}

/* Rounds up to 1, 2 or 5 times a power of ten. */
static double round_up_125(double value)
{
    double power = pow(10, floor(log10(value))), part = value / power;
    return (part <= 1.0000001 ? 1 : part <= 2.0000001 ? 2 : part <= 5.0000001 ? 5 : 10) * power;
}

lab_axis lab_axis_linear(double highest, double from, double to)
{
    double high = highest > 0 ? clamp(highest, AXIS_MIN, AXIS_MAX) : 1, step = round_up_125(high / 8);
    return (lab_axis){.low = 0, .high = step * ceil(high / step - 1e-9), .from = from, .to = to};
}

lab_axis lab_axis_log(double lowest, double highest, double from, double to)
{
    double low = clamp(lowest, AXIS_MIN, AXIS_MAX), high = clamp(highest, AXIS_MIN, AXIS_MAX);
    high = fmax(high, low * 2);
    return (lab_axis){.low = low, .high = high, .is_log = true, .from = from, .to = to};
}

double lab_axis_position(const lab_axis *axis, double value)
{
    double clamped = clamp(value, axis->low, axis->high);
    double part = axis->is_log ? (log(clamped) - log(axis->low)) / (log(axis->high) - log(axis->low))
                               : (clamped - axis->low) / (axis->high - axis->low);
    return axis->from + clamp(part, 0, 1) * (axis->to - axis->from);
}

/* Returns powers of ten as ticks, every `step`-th one; if there are few, also 2 and 5 times each. */
static int log_ticks(const lab_axis *axis, int most, double *ticks)
{
    static const double between[] = {1, 2, 5};
    int first = (int)floor(log10(axis->low) + 1e-9), last = (int)ceil(log10(axis->high) - 1e-9), count = 0;
    int step = (last - first) / most + 1, parts = 3 * (last - first) <= most ? 3 : 1;
    for (int power = first; power <= last; power += step)
        for (int i = 0; i < parts && count < LAB_TICKS_MAX; i++) {
            double tick = between[i] * pow(10, power);
            if (tick >= axis->low * 0.9999999 && tick <= axis->high * 1.0000001)
                ticks[count++] = tick;
        }
    return count;
}

int lab_axis_ticks(const lab_axis *axis, int most, double ticks[LAB_TICKS_MAX])
{
    int count = 0;
    most = most > LAB_TICKS_MAX - 2 ? LAB_TICKS_MAX - 2 : most < 2 ? 2 : most;
    if (axis->is_log)
        return log_ticks(axis, most, ticks);
    double step = round_up_125(axis->high / most);
    while (count < LAB_TICKS_MAX && count * step <= axis->high * 1.0000001) {
        ticks[count] = count * step;
        count++;
    }
    return count;
}

/* ---- Axes of a chart with two axes ---- */

static int y_ticks(const lab_axis *axis, double ticks[LAB_TICKS_MAX])
{
    return lab_axis_ticks(axis, axis->is_log ? 9 : 8, ticks);
}

/* Returns the style of the labels of a vertical axis, which are smaller on a phone. */
static lab_text_style y_axis_style(const lab_svg *svg, lab_anchor anchor)
{
    lab_text_style style = lab_tick_style(anchor);
    style.size = svg->is_narrow ? 11 : LAB_FONT_SIZE;
    return style;
}

double lab_y_axis_width(const lab_svg *svg, const lab_axis *axis)
{
    double ticks[LAB_TICKS_MAX], widest = 0, size = y_axis_style(svg, LAB_ANCHOR_END).size;
    int count = y_ticks(axis, ticks);
    for (int i = 0; i < count; i++)
        widest = fmax(widest, lab_svg_text_width(lab_tick_number(ticks[i]).text, size));
    return size + 8 + widest + 8;
}

void lab_draw_y_ticks(lab_svg *svg, const lab_chart_frame *frame, double label_gap)
{
    double ticks[LAB_TICKS_MAX];
    int count = y_ticks(&frame->y, ticks);
    for (int i = 0; i < count; i++) {
        double y = lab_axis_position(&frame->y, ticks[i]);
        lab_svg_line(svg, frame->left, y, frame->right, y, LAB_COLOUR_rule, 1, "");
        lab_svg_text(svg, frame->left - label_gap, y + 4, y_axis_style(svg, LAB_ANCHOR_END),
                     lab_tick_number(ticks[i]).text);
    }
}

void lab_draw_x_unit(lab_svg *svg, const lab_chart_frame *frame, const char *unit)
{
    lab_svg_text(svg, (frame->left + frame->right) / 2, frame->bottom + 36, lab_tick_style(LAB_ANCHOR_MIDDLE), unit);
}

void lab_draw_y_unit(lab_svg *svg, const lab_chart_frame *frame, const char *unit)
{
    lab_svg_text_vertical(svg, 11, (frame->top + frame->bottom) / 2, y_axis_style(svg, LAB_ANCHOR_MIDDLE), unit);
}

/* ---- Legend ---- */

enum { LEGEND_SAMPLE_WIDTH = 28, LEGEND_GAP = 22, LEGEND_ROW_HEIGHT = 20 };

static void draw_legend_entry(lab_svg *svg, const lab_legend_entry *key, double x, double y, double room)
{
    if (key->is_line)
        lab_svg_line(svg, x, y - 4, x + 22, y - 4, key->mark.colour, 2, key->dash);
    if (!key->is_line || key->mark.shape >= 0)
        lab_svg_marker(svg, x + (key->is_line ? 11 : 14), y - 4, 4.2, key->mark);
    lab_svg_text_within(svg, x + LEGEND_SAMPLE_WIDTH, y, lab_label_style(LAB_ANCHOR_START), room - LEGEND_SAMPLE_WIDTH,
                        key->label);
}

static double legend_entry_width(const lab_legend_entry *key)
{
    return LEGEND_SAMPLE_WIDTH + lab_svg_text_width(key->label, LAB_FONT_SIZE) + LEGEND_GAP;
}

/* Draws all entries in one row if they fit, else in columns. */
double lab_draw_legend(lab_svg *svg, const lab_legend_entry *keys, int count, double left, double y)
{
    double widest = 0, all = 0, room = svg->width - left;
    for (int i = 0; i < count; i++) {
        widest = fmax(widest, legend_entry_width(&keys[i]));
        all += legend_entry_width(&keys[i]);
    }
    if (all - LEGEND_GAP <= room) {
        double x = left;
        for (int i = 0; i < count; i++) {
            draw_legend_entry(svg, &keys[i], x, y + 13, room);
            x += legend_entry_width(&keys[i]);
        }
        return y + LEGEND_ROW_HEIGHT;
    }
    int columns = (int)((room + LEGEND_GAP) / widest);
    columns = columns < 1 ? 1 : columns;
    int rows = (count + columns - 1) / columns;
    for (int i = 0; i < count; i++)
        draw_legend_entry(svg, &keys[i], left + widest * (i / rows), y + LEGEND_ROW_HEIGHT * (i % rows) + 13, room);
    return y + LEGEND_ROW_HEIGHT * rows;
}
