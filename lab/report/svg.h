/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h - a small writer of SVG for pictures in a page or in files of their own, with light and dark colours.
 *
 * Every shape has its light colour as an attribute and the colour's name as a class, with which a style sheet
 * selects the dark colour. Programs without style sheets draw the light colours. Texts and numbers are untrusted:
 * text is escaped, and coordinates are limited to a range around the picture. */
#ifndef LAB_SVG_H
#define LAB_SVG_H

#include <stdbool.h>
#include <stdio.h>

typedef enum lab_chart_colour {
#define COLOUR(name, day, night) LAB_COLOUR_##name,
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
    bool is_hollow; /* another's library: hollow, and its lines are dashed */
} lab_marker;

enum { LAB_SVG_TEXTS_MAX = 768 };

typedef struct lab_svg {
    FILE *out;
    double width, height;             /* the width is given, the height is what the drawing needs */
    bool is_narrow;                   /* for a telephone */
    lab_box texts[LAB_SVG_TEXTS_MAX]; /* areas that texts occupy */
    int text_count;
} lab_svg;

void lab_svg_rect(lab_svg *svg, lab_box box, lab_chart_colour colour, double radius);
void lab_svg_frame(lab_svg *svg, lab_box box, lab_chart_colour colour); /* its edge alone */
void lab_svg_line(lab_svg *svg, double x1, double y1, double x2, double y2, lab_chart_colour colour, double width,
                  const char *dash);
void lab_svg_polyline(lab_svg *svg, const double *x, const double *y, int count, lab_chart_colour colour, double width,
                      const char *dash);
void lab_svg_marker(lab_svg *svg, double x, double y, double radius, lab_marker mark);

/* Words with their foot at y, and their box noted. `halo`: kept clear of the lines behind them. */
typedef struct lab_text_style {
    double x, y, size;
    lab_anchor anchor;
    lab_chart_colour colour;
    bool is_bold, has_halo;
} lab_text_style;

void lab_svg_text(lab_svg *svg, lab_text_style words, const char *text);

/* Write text from bottom to top at x, or along a slope of the given degrees; the latter returns false if it does not
 * fit. */
void lab_svg_text_vertical(lab_svg *svg, lab_text_style words, const char *text);
bool lab_svg_text_rotated(lab_svg *svg, lab_text_style words, double degrees, const char *text);

/* Returns whether a text fits into the picture and overlaps no other text. */
bool lab_svg_text_fits(const lab_svg *svg, lab_text_style words, const char *text);

/* About how wide they are, in a wide face rather than a narrow one. */
double lab_svg_text_width(const char *text, double size);

/* As much of the text as is that wide, with an ellipsis where there was more. */
void lab_svg_text_truncate(const char *text, double size, double width, char *cut, size_t capacity);

/* For HTML and XML: the five characters are escaped, what is no text there becomes U+FFFD. */
void lab_html_escape(FILE *out, const char *text);

/* The colours as a style sheet: variables and classes for a page, or of the night alone, for
 * a picture by itself. */
void lab_svg_page_style(FILE *out);
void lab_svg_standalone_style(FILE *out);

#endif /* LAB_SVG_H */
