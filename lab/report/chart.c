/* SPDX-License-Identifier: Apache-2.0 */
/* chart.c - what the charts share: axes, numbers as words, legends, labels pushed apart. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

static const double AXIS_MIN = 1e-300, AXIS_MAX = 1e300;

void lab_format_short(double value, char *text, size_t capacity)
{
    double size = fabs(value);
    const char *format = size == 0                    ? "%.0f"
                         : size >= 1e7 || size < 1e-3 ? "%.3g"
                         : size >= 99.95              ? "%.0f"
                         : size >= 9.995              ? "%.1f"
                         : size >= 0.9995             ? "%.2f"
                                                      : "%.3g";
    snprintf(text, capacity, format, value);
}

void lab_format_tick(double value, char *text, size_t capacity)
{
    snprintf(text, capacity, value >= 1e4 && value < 1e7 ? "%.0f" : "%.4g", value);
}

/* ---- Axes ---- */

static double clamp(double value, double low, double high)
{
    return isfinite(value) ? fmin(fmax(value, low), high) : low;
}

/* The least of 1, 2 and 5 times a power of ten that is not below. */
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
    double kept = clamp(value, axis->low, axis->high);
    double part = axis->is_log ? (log(kept) - log(axis->low)) / (log(axis->high) - log(axis->low))
                               : (kept - axis->low) / (axis->high - axis->low);
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

double lab_axis_label_width(const lab_axis *axis, int most, double size)
{
    double ticks[LAB_TICKS_MAX], widest = 0;
    int count = lab_axis_ticks(axis, most, ticks);
    for (int i = 0; i < count; i++) {
        char label[32];
        lab_format_tick(ticks[i], label, sizeof label);
        widest = fmax(widest, lab_svg_text_width(label, size));
    }
    return size + 8 + widest + 8;
}

/* ---- Labels ---- */

void lab_spread_labels(double *places, int count, double gap, double low, double high)
{
    if (count > 1 && (count - 1) * gap > high - low)
        gap = (high - low) / (count - 1);
    for (int i = 0; i < count; i++) {
        double least = i == 0 ? low : places[i - 1] + gap;
        places[i] = fmax(places[i], least);
    }
    for (int i = count - 1; i >= 0; i--) {
        double most = i == count - 1 ? high : places[i + 1] - gap;
        places[i] = fmin(places[i], most);
    }
}

enum { LEGEND_SAMPLE_WIDTH = 28, LEGEND_GAP = 22, LEGEND_ROW_HEIGHT = 20, LEGEND_FONT_SIZE = 12 };

static void draw_legend_entry(lab_svg *svg, const lab_legend_entry *key, double x, double y, double room)
{
    char label[LAB_LABEL_MAX];
    if (key->is_line)
        lab_svg_line(svg, x, y - 4, x + 22, y - 4, key->mark.colour, 2, key->dash);
    if (!key->is_line || key->mark.shape >= 0)
        lab_svg_marker(svg, x + (key->is_line ? 11 : 14), y - 4, 4.2, key->mark);
    lab_svg_text_truncate(key->label, LEGEND_FONT_SIZE, room - LEGEND_SAMPLE_WIDTH, label, sizeof label);
    lab_svg_text(
        svg, (lab_text_style){.x = x + LEGEND_SAMPLE_WIDTH, .y = y, .size = LEGEND_FONT_SIZE, .colour = LAB_COLOUR_ink},
        label);
}

/* One behind the other where all fit into a row, else in columns. */
double lab_draw_legend(lab_svg *svg, const lab_legend_entry *keys, int count, double left, double y)
{
    double widest = 0, all = 0, room = svg->width - left;
    for (int i = 0; i < count; i++) {
        double width = LEGEND_SAMPLE_WIDTH + lab_svg_text_width(keys[i].label, LEGEND_FONT_SIZE) + LEGEND_GAP;
        widest = fmax(widest, width);
        all += width;
    }
    if (all - LEGEND_GAP <= room) {
        double x = left;
        for (int i = 0; i < count; i++) {
            draw_legend_entry(svg, &keys[i], x, y + 13, room);
            x += LEGEND_SAMPLE_WIDTH + lab_svg_text_width(keys[i].label, LEGEND_FONT_SIZE) + LEGEND_GAP;
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
