/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h - the pictures of a report, drawn from plain numbers. Charts know nothing of results.
 *
 * A chart is drawn for a given width and determines its height. At the width of a phone its parts are arranged
 * differently, so that texts keep their size. Texts never overlap: they are moved apart, or left to the legend or
 * the table. */
#pragma once

#include "report/svg.h"

enum {
    LAB_LABEL_MAX = 128,
    LAB_TICKS_MAX = 32,
    LAB_CEILINGS_MAX = 12,
    LAB_STACKED_PARTS_MAX = 4,
    LAB_BARS_MAX = 40,
    LAB_FONT_SIZE = 12
};

/* ---- Shared by the charts ---- */

/* A short text that a function returns by value, so that calls can be nested:
 * printf("%s", lab_short_number(x).text). */
typedef struct lab_formatted {
    char text[128];
} lab_formatted;

lab_formatted lab_short_number(double value); /* with few digits: 0.012, 4.56, 78.9, 1234, 1.2e+30 */
lab_formatted lab_tick_number(double value);  /* of round values: 0.5, 20, 4096 */

/* Text styles of labels, and of secondary text such as the ticks of an axis. */
lab_text_style lab_label_style(lab_anchor anchor);
lab_text_style lab_tick_style(lab_anchor anchor);

/* Maps values to positions in the picture, logarithmically or linearly. Values beyond the ends are drawn at the
 * ends. */
typedef struct lab_axis {
    double low, high;
    bool is_log;
    double from, to; /* positions of both ends */
} lab_axis;

/* Return an axis from 0 to `highest`, rounded up, and a logarithmic axis whose ends differ by a factor of at least 2. */
lab_axis lab_axis_linear(double highest, double from, double to);
lab_axis lab_axis_log(double lowest, double highest, double from, double to);
double lab_axis_position(const lab_axis *axis, double value);
int lab_axis_ticks(const lab_axis *axis, int most, double ticks[LAB_TICKS_MAX]);

/* The area of a chart with two axes. */
typedef struct lab_chart_frame {
    lab_axis x, y;
    double left, right, top, bottom;
} lab_chart_frame;

/* Returns the width of the labels of a vertical axis, including its unit. */
double lab_y_axis_width(const lab_svg *svg, const lab_axis *axis);

/* Draw the grid lines and labels of the vertical axis; the units of both axes. */
void lab_draw_y_ticks(lab_svg *svg, const lab_chart_frame *frame, double label_gap);
void lab_draw_x_unit(lab_svg *svg, const lab_chart_frame *frame, const char *unit);
void lab_draw_y_unit(lab_svg *svg, const lab_chart_frame *frame, const char *unit);

typedef struct lab_legend_entry {
    const char *label;
    lab_marker mark;
    bool is_line;     /* else a marker alone */
    const char *dash; /* of the line */
} lab_legend_entry;

/* Draws a legend below y, in one row or in columns. Returns the y of its end. */
double lab_draw_legend(lab_svg *svg, const lab_legend_entry *keys, int count, double left, double y);

/* A line across the bars: a ceiling or a value to reach. */
typedef struct lab_limit_line {
    char label[LAB_LABEL_MAX];
    double value;
    lab_chart_colour colour;
} lab_limit_line;

/* ---- Horizontal bars ---- */

typedef struct lab_bar {
    char label[LAB_LABEL_MAX], heading[LAB_LABEL_MAX]; /* heading: above the bar, "" without one */
    double value, low, high;                           /* low and high: its interval, 0 if unknown */
    lab_marker mark;
} lab_bar;

typedef struct lab_bars {
    const char *unit;
    lab_bar list[LAB_BARS_MAX];
    int count;
    lab_limit_line limits[LAB_CEILINGS_MAX];
    int limit_count;
} lab_bars;

void lab_draw_bars(lab_svg *svg, const void *bars);

/* ---- Stacked bars: the parts of a whole ---- */

typedef struct lab_stacked_bar {
    char label[LAB_LABEL_MAX], total[LAB_LABEL_MAX]; /* the total is printed after the bar */
    double parts[LAB_STACKED_PARTS_MAX];
} lab_stacked_bar;

typedef struct lab_stacked_bars {
    const char *names[LAB_STACKED_PARTS_MAX];
    lab_stacked_bar list[LAB_BARS_MAX];
    int count;
} lab_stacked_bars;

void lab_draw_stacked_bars(lab_svg *svg, const void *parts);

/* ---- Lines: values over a size ---- */

typedef struct lab_curve {
    char label[LAB_LABEL_MAX];
    lab_marker mark;
    bool is_limit; /* a ceiling: a thin line without markers */
    double *x, *y; /* by ascending x */
    int count;
} lab_curve;

typedef struct lab_line_chart {
    const char *x_unit, *y_unit;
    lab_curve *list;
    int count;
} lab_line_chart;

void lab_draw_line_chart(lab_svg *svg, const void *lines);

/* ---- Roofline: both axes logarithmic ---- */

typedef struct lab_roofline_point {
    char label[LAB_LABEL_MAX], short_label[16]; /* short_label: beside the point; may be "" */
    lab_marker mark;
    double intensity, gflops;
} lab_roofline_point;

typedef struct lab_roofline_ceiling {
    char label[LAB_LABEL_MAX];
    double gflops, gb_s; /* one of them is 0 */
    bool is_memory;      /* gb_s is of main memory, not of a cache */
} lab_roofline_ceiling;

typedef struct lab_roofline {
    const char *x_unit;
    lab_roofline_point *list;
    int count;
    lab_roofline_ceiling ceilings[LAB_CEILINGS_MAX];
    int ceiling_count;
} lab_roofline;

/* Adds a ceiling labelled with its name and value. Returns NULL if there is no room. */
lab_roofline_ceiling *lab_roofline_add_ceiling(lab_roofline *roofline, const char *name, double gflops, double gb_s);

void lab_draw_roofline(lab_svg *svg, const void *roofline);

/* ---- Heat map: a value for each pair of values of two parameters ---- */

enum { LAB_HEAT_VALUES_MAX = 24, LAB_HEAT_TEXT_BYTES = 32 };

typedef struct lab_heat_axis {
    char name[LAB_HEAT_TEXT_BYTES], values[LAB_HEAT_VALUES_MAX][LAB_HEAT_TEXT_BYTES];
    int count;
} lab_heat_axis;

typedef struct lab_heat_map {
    const lab_heat_axis *x, *y;
    double cells[LAB_HEAT_VALUES_MAX][LAB_HEAT_VALUES_MAX]; /* rows of y, columns of x; 0: not tried */
} lab_heat_map;

void lab_draw_heat_map(lab_svg *svg, const void *heat);
