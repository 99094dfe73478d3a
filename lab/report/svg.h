/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h - a small writer of SVG for pictures in a page or in files of their own, with light and dark colours.
 *
 * Every shape has its light colour as an attribute and the colour's name as a class, with which a style sheet
 * selects the dark colour. Programs without style sheets draw the light colours. Texts and numbers are untrusted:
 * text is escaped, and coordinates are limited to a range around the picture. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef enum lab_chart_colour {
#define COLOUR(name, light, dark) LAB_COLOUR_##name,
#include "report/palette.def"
#undef COLOUR
    LAB_COLOUR_COUNT
} lab_chart_colour;

enum {
    LAB_COLOUR_COOL_COUNT = LAB_COLOUR_cool11 - LAB_COLOUR_cool0 + 1,
    LAB_COLOUR_WARM_COUNT = LAB_COLOUR_warm4 - LAB_COLOUR_warm0 + 1,
    LAB_COLOUR_HEAT_COUNT = LAB_COLOUR_heat6 - LAB_COLOUR_heat0 + 1,
    LAB_MARKER_SHAPES = 6
};

typedef enum lab_anchor { LAB_ANCHOR_START, LAB_ANCHOR_MIDDLE, LAB_ANCHOR_END } lab_anchor;

typedef struct lab_box {
    double x, y, width, height;
} lab_box;

/* The appearance of a series, the same in every picture. */
typedef struct lab_marker {
    lab_chart_colour colour;
    int shape;      /* 0 to LAB_MARKER_SHAPES - 1 */
    bool is_hollow; /* for other libraries, whose lines are dashed */
} lab_marker;

enum { LAB_SVG_TEXTS_MAX = 768 };

typedef struct lab_svg {
    FILE *out;
    double width, height;             /* the width is given; the drawing sets its height */
    bool is_narrow;                   /* for a phone */
    lab_box texts[LAB_SVG_TEXTS_MAX]; /* areas that texts occupy */
    int text_count;
} lab_svg;

void lab_svg_rect(lab_svg *svg, lab_box box, lab_chart_colour colour, double radius);
void lab_svg_frame(lab_svg *svg, lab_box box, lab_chart_colour colour); /* the outline only */
void lab_svg_line(lab_svg *svg, double x1, double y1, double x2, double y2, lab_chart_colour colour, double width,
                  const char *dash);
void lab_svg_polyline(lab_svg *svg, const double *x, const double *y, int count, lab_chart_colour colour, double width,
                      const char *dash);
void lab_svg_marker(lab_svg *svg, double x, double y, double radius, lab_marker mark);

/* has_halo: an outline in the paper colour separates the text from the lines behind it. */
typedef struct lab_text_style {
    double size;
    lab_anchor anchor;
    lab_chart_colour colour;
    bool is_bold, has_halo;
} lab_text_style;

/* Writes text with its baseline at y and reserves its area. */
void lab_svg_text(lab_svg *svg, double x, double y, lab_text_style style, const char *text);

/* Writes as much of the text as fits into the width, with an ellipsis if the text is cut. */
void lab_svg_text_within(lab_svg *svg, double x, double y, lab_text_style style, double width, const char *text);

/* Write text from bottom to top at x, or along a slope of the given degrees; the latter returns false if it does not
 * fit. */
void lab_svg_text_vertical(lab_svg *svg, double x, double y, lab_text_style style, const char *text);
bool lab_svg_text_rotated(lab_svg *svg, double x, double y, lab_text_style style, double degrees, const char *text);

/* Returns whether a text fits into the picture and overlaps no other text. */
bool lab_svg_text_fits(const lab_svg *svg, double x, double y, lab_text_style style, const char *text);

/* Estimates the width of a text from the widths of a wide font. */
double lab_svg_text_width(const char *text, double size);

/* Writes markup in which each %s is replaced by the next argument, escaped. Other conversions are not supported. */
void lab_html_write(FILE *out, const char *markup, ...);

/* Write the colours as a style sheet: variables and classes for a page; only the dark colours for a picture in a file
 * of its own. */
void lab_svg_page_style(FILE *out);
void lab_svg_standalone_style(FILE *out);
