/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h - the pictures of a report, drawn from plain numbers. Charts know nothing of results.
 *
 * A chart is drawn for a given width and determines its height. At the width of a phone its parts are arranged
 * differently, so that texts keep their size. Texts never overlap: they are moved apart, or left to the legend or
 * the table. */
#ifndef LAB_CHART_H
#define LAB_CHART_H

#include "report/svg.h"

enum { LAB_LABEL_MAX = 128, LAB_TICKS_MAX = 32, LAB_CEILINGS_MAX = 12, LAB_STACKED_PARTS_MAX = 4 };

/* ---- What charts share ---- */

/* A value as few digits tell it: 0.012, 4.56, 78.9, 1234, 1.2e+30. */
void lab_format_short(double value, char *text, size_t capacity);

/* The same for a round one: 0.5, 20, 4096. */
void lab_format_tick(double value, char *text, size_t capacity);

/* Maps values to positions in the picture, logarithmically or linearly. Values beyond the ends are drawn at the
 * ends. */
typedef struct lab_axis {
    double low, high;
    bool is_log;
    double from, to; /* the places of both ends */
} lab_axis;

/* From 0 to the value or a little above it; from one to the other, which are twice as far apart at least. */
lab_axis lab_axis_linear(double highest, double from, double to);
lab_axis lab_axis_log(double lowest, double highest, double from, double to);
double lab_axis_position(const lab_axis *axis, double value);
int lab_axis_ticks(const lab_axis *axis, int most, double ticks[LAB_TICKS_MAX]);

/* Returns the width of the labels of a vertical axis, including its unit. */
double lab_axis_label_width(const lab_axis *axis, int most, double size);

/* Moves sorted places apart until each is `gap` from the next and all are within. */
void lab_spread_labels(double *places, int count, double gap, double low, double high);

typedef struct lab_legend_entry {
    const char *label;
    lab_marker mark;
    bool is_line;     /* else a marker alone */
    const char *dash; /* of the line */
} lab_legend_entry;

/* Below y, in as many columns as there is room for; where it ends. */
double lab_draw_legend(lab_svg *svg, const lab_legend_entry *keys, int count, double left, double y);

/* A line across that nothing passes, or that is to be reached. */
typedef struct lab_limit_line {
    char label[LAB_LABEL_MAX];
    double value;
    lab_chart_colour colour;
} lab_limit_line;

/* ---- Bars: one below the other ---- */

typedef struct lab_bar {
    char label[LAB_LABEL_MAX], heading[LAB_LABEL_MAX]; /* a heading begins a part; "" if none does */
    double value, low, high;                           /* low and high: its interval, or 0 */
    lab_marker mark;
} lab_bar;

typedef struct lab_bars {
    const char *unit;
    lab_bar *list;
    int count;
    lab_limit_line limits[LAB_CEILINGS_MAX];
    int limit_count;
} lab_bars;

void lab_draw_bars(lab_svg *svg, const void *bars);

/* ---- Parts: bars of a whole that is cut into parts ---- */

typedef struct lab_stacked_bar {
    char label[LAB_LABEL_MAX], total[LAB_LABEL_MAX]; /* the total is printed after the bar */
    double parts[LAB_STACKED_PARTS_MAX];
} lab_stacked_bar;

typedef struct lab_stacked_bars {
    const char *names[LAB_STACKED_PARTS_MAX];
    int name_count;
    lab_stacked_bar *list;
    int count;
} lab_stacked_bars;

void lab_draw_stacked_bars(lab_svg *svg, const void *parts);

/* ---- Lines: something over a size ---- */

typedef struct lab_curve {
    char label[LAB_LABEL_MAX];
    lab_marker mark;
    bool is_limit; /* a ceiling: a thin line without markers */
    double *x, *y; /* by rising x */
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
    char label[LAB_LABEL_MAX], short_label[16]; /* the short label is printed beside it; may be "" */
    lab_marker mark;
    double intensity, gflops;
} lab_roofline_point;

typedef struct lab_roofline_ceiling {
    char label[LAB_LABEL_MAX];
    double gflops, gb_s; /* one of them; the other is 0 */
    bool is_memory;      /* gb_s is of main memory, not of a cache */
} lab_roofline_ceiling;

typedef struct lab_roofline {
    const char *x_unit;
    lab_roofline_point *list;
    int count;
    lab_roofline_ceiling ceilings[LAB_CEILINGS_MAX];
    int ceiling_count;
} lab_roofline;

void lab_draw_roofline(lab_svg *svg, const void *roofline);

/* ---- Heat: a value for each pair of two parameters' values ---- */

typedef struct lab_heat_map {
    const char *x_name, *y_name;
    const char **x_values, **y_values;
    int x_count, y_count;
    double *cells; /* x_count a row; 0: nothing was tried */
} lab_heat_map;

void lab_draw_heat_map(lab_svg *svg, const void *heat);

#endif /* LAB_CHART_H */
