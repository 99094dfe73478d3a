/* SPDX-License-Identifier: Apache-2.0 */
/* svg.c - see svg.h. */
#include "report/svg.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "io/xml_escape.h"

static const struct {
    const char *name, *light, *dark;
} colours[] = {
#define COLOUR(name, light, dark) {#name, light, dark},
#include "report/palette.def"
#undef COLOUR
};

/* ---- Text ---- */

void lab_html_write(FILE *out, const char *markup, ...)
{
    va_list arguments;
    va_start(arguments, markup);
    for (const char *next; (next = strstr(markup, "%s")) != NULL; markup = next + 2) {
        fwrite(markup, 1, (size_t)(next - markup), out);
        lab_html_escape(out, va_arg(arguments, const char *));
    }
    va_end(arguments);
    fputs(markup, out);
}

/* Returns the width as a fraction of the font size, for DejaVu Sans, one of the widest fonts. */
static double character_width(unsigned code)
{
    if (code >= 0x2e80)
        return 1.0;
    if (code >= 0x80)
        return 0.68;
    if (strchr("iljI|.,:;!'", (int)code))
        return 0.34;
    if (strchr("mwMW%@", (int)code))
        return 0.96;
    if (strchr(" -/()[]ftr\"", (int)code))
        return 0.42;
    if (code >= 'A' && code <= 'Z')
        return 0.71;
    return strchr("+=<>#~", (int)code) ? 0.84 : 0.63;
}

double lab_svg_text_width(const char *text, double size)
{
    double width = 0;
    int length;
    for (; *text; text += length)
        width += character_width(lab_utf8_read(text, &length));
    return width * size;
}

/* Copies as much of the text as fits into the width, with an ellipsis if the text is cut. */
static void truncate_text(const char *text, double size, double width, char *cut, size_t capacity)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    double left = width - size; /* room for the ellipsis */
    size_t used = 0;
    int length;
    if (lab_svg_text_width(text, size) <= width && strlen(text) < capacity) {
        strcpy(cut, text);
        return;
    }
    for (; *text; text += length) {
        left -= character_width(lab_utf8_read(text, &length)) * size;
        if (left < 0 || used + (size_t)length + sizeof ellipsis > capacity)
            break;
        memcpy(cut + used, text, (size_t)length);
        used += (size_t)length;
    }
    snprintf(cut + used, capacity - used, "%s", ellipsis);
}

/* ---- Shapes ---- */

/* Limits a coordinate to a range around the picture; returns 0 for NaN and infinity. */
static double clamp_coordinate(double value)
{
    return isfinite(value) ? fmin(fmax(value, -1e4), 1e5) : 0;
}

static void write_number(lab_svg *svg, const char *name, double value)
{
    fprintf(svg->out, " %s=\"%.4g\"", name, round(clamp_coordinate(value) * 10) / 10);
}

static void write_coordinate(lab_svg *svg, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.1f", clamp_coordinate(value));
    size_t length = strlen(text);
    if (text[length - 1] == '0')
        text[length - 2] = '\0';
    fprintf(svg->out, " %s=\"%s\"", name, strcmp(text, "-0") == 0 ? "0" : text);
}

static void write_fill(lab_svg *svg, lab_chart_colour colour)
{
    fprintf(svg->out, " class=\"f-%s\" fill=\"%s\"", colours[colour].name, colours[colour].light);
}

static void write_stroke(lab_svg *svg, lab_chart_colour colour, double width, const char *dash)
{
    fprintf(svg->out, " class=\"k-%s\" fill=\"none\" stroke=\"%s\"", colours[colour].name, colours[colour].light);
    write_number(svg, "stroke-width", width);
    if (*dash)
        fprintf(svg->out, " stroke-dasharray=\"%s\"", dash);
}

static void write_box(lab_svg *svg, lab_box box)
{
    write_coordinate(svg, "x", box.x);
    write_coordinate(svg, "y", box.y);
    write_coordinate(svg, "width", fmax(box.width, 0));
    write_coordinate(svg, "height", fmax(box.height, 0));
}

void lab_svg_rect(lab_svg *svg, lab_box box, lab_chart_colour colour, double radius)
{
    fputs("<rect", svg->out);
    write_box(svg, box);
    if (radius > 0)
        write_number(svg, "rx", fmin(radius, fmax(box.width, 0) / 2));
    write_fill(svg, colour);
    fputs("/>\n", svg->out);
}

void lab_svg_frame(lab_svg *svg, lab_box box, lab_chart_colour colour)
{
    fputs("<rect", svg->out);
    write_box(svg, box);
    write_stroke(svg, colour, 2, "");
    fputs("/>\n", svg->out);
}

void lab_svg_line(lab_svg *svg, double x1, double y1, double x2, double y2, lab_chart_colour colour, double width,
                  const char *dash)
{
    fputs("<line", svg->out);
    write_coordinate(svg, "x1", x1);
    write_coordinate(svg, "y1", y1);
    write_coordinate(svg, "x2", x2);
    write_coordinate(svg, "y2", y2);
    write_stroke(svg, colour, width, dash);
    fputs("/>\n", svg->out);
}

static void write_point(lab_svg *svg, bool is_first, double x, double y)
{
    fprintf(svg->out, "%s%.1f,%.1f", is_first ? "" : " ", clamp_coordinate(x), clamp_coordinate(y));
}

void lab_svg_polyline(lab_svg *svg, const double *x, const double *y, int count, lab_chart_colour colour, double width,
                      const char *dash)
{
    fputs("<polyline points=\"", svg->out);
    for (int i = 0; i < count; i++)
        write_point(svg, i == 0, x[i], y[i]);
    fputs("\"", svg->out);
    write_stroke(svg, colour, width, dash);
    fputs(" stroke-linejoin=\"round\"/>\n", svg->out);
}

/* The corners of the markers for a radius of 1: disc (no corners), square, diamond, two triangles, cross. */
static const struct {
    int count;
    double x[12], y[12];
} marker_corners[LAB_MARKER_SHAPES] = {
    {0, {0}, {0}},
    {4, {-0.9, 0.9, 0.9, -0.9}, {-0.9, -0.9, 0.9, 0.9}},
    {4, {0, 1.25, 0, -1.25}, {-1.25, 0, 1.25, 0}},
    {3, {0, 1.15, -1.15}, {-1.2, 0.9, 0.9}},
    {3, {0, 1.15, -1.15}, {1.2, -0.9, -0.9}},
    {12,
     {-0.4, 0.4, 0.4, 1.2, 1.2, 0.4, 0.4, -0.4, -0.4, -1.2, -1.2, -0.4},
     {-1.2, -1.2, -0.4, -0.4, 0.4, 0.4, 1.2, 1.2, 0.4, 0.4, -0.4, -0.4}},
};

/* An outline in the paper colour separates a filled mark from its background. */
static void write_marker_style(lab_svg *svg, lab_marker mark)
{
    lab_chart_colour fill = mark.is_hollow ? LAB_COLOUR_paper : mark.colour,
                     rim = mark.is_hollow ? mark.colour : LAB_COLOUR_paper;
    fprintf(svg->out, " class=\"f-%s k-%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"/>\n", colours[fill].name,
            colours[rim].name, colours[fill].light, colours[rim].light, mark.is_hollow ? "1.8" : "1");
}

void lab_svg_marker(lab_svg *svg, double x, double y, double radius, lab_marker mark)
{
    int shape = mark.shape >= 0 ? mark.shape % LAB_MARKER_SHAPES : 0;
    if (shape == 0) {
        fputs("<circle", svg->out);
        write_coordinate(svg, "cx", x);
        write_coordinate(svg, "cy", y);
        write_number(svg, "r", radius);
    } else {
        fputs("<polygon points=\"", svg->out);
        for (int i = 0; i < marker_corners[shape].count; i++)
            write_point(svg, i == 0, x + radius * marker_corners[shape].x[i], y + radius * marker_corners[shape].y[i]);
        fputs("\"", svg->out);
    }
    write_marker_style(svg, mark);
}

/* ---- Text elements ---- */

static lab_box text_box(double x, double y, lab_text_style style, const char *text)
{
    double width = lab_svg_text_width(text, style.size) * (style.is_bold ? 1.08 : 1);
    static const double before[] = {[LAB_ANCHOR_START] = 0, [LAB_ANCHOR_MIDDLE] = 0.5, [LAB_ANCHOR_END] = 1};
    return (lab_box){x - before[style.anchor] * width, y - 0.8 * style.size, width, 1.02 * style.size};
}

/* Returns whether a box is inside the picture (its height is not known yet) and overlaps no text. */
static bool is_free(const lab_svg *svg, lab_box box)
{
    if (box.x < 0 || box.x + box.width > svg->width || box.y < 0)
        return false;
    for (int i = 0; i < svg->text_count; i++) {
        lab_box text = svg->texts[i];
        if (box.x < text.x + text.width && text.x < box.x + box.width && box.y < text.y + text.height &&
            text.y < box.y + box.height)
            return false;
    }
    return true;
}

bool lab_svg_text_fits(const lab_svg *svg, double x, double y, lab_text_style style, const char *text)
{
    return is_free(svg, text_box(x, y, style, text));
}

static void reserve_text_box(lab_svg *svg, lab_box box)
{
    if (svg->text_count < LAB_SVG_TEXTS_MAX)
        svg->texts[svg->text_count++] = box;
}

static void write_text_element(lab_svg *svg, lab_text_style style, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    write_number(svg, "font-size", style.size);
    fprintf(svg->out, " text-anchor=\"%s\"", anchors[style.anchor]);
    if (style.is_bold)
        fputs(" font-weight=\"600\"", svg->out);
    if (style.has_halo)
        fprintf(svg->out,
                " class=\"f-%s k-paper\" fill=\"%s\" stroke=\"%s\" stroke-width=\"4\" "
                "stroke-linejoin=\"round\" paint-order=\"stroke\"",
                colours[style.colour].name, colours[style.colour].light, colours[LAB_COLOUR_paper].light);
    else
        write_fill(svg, style.colour);
    lab_html_write(svg->out, ">%s</text>\n", text);
}

void lab_svg_text(lab_svg *svg, double x, double y, lab_text_style style, const char *text)
{
    if (!*text)
        return;
    reserve_text_box(svg, text_box(x, y, style, text));
    fputs("<text", svg->out);
    write_coordinate(svg, "x", x);
    write_coordinate(svg, "y", y);
    write_text_element(svg, style, text);
}

void lab_svg_text_within(lab_svg *svg, double x, double y, lab_text_style style, double width, const char *text)
{
    char cut[512];
    truncate_text(text, style.size, width, cut, sizeof cut);
    lab_svg_text(svg, x, y, style, cut);
}

static void write_rotated(lab_svg *svg, double x, double y, lab_text_style style, const char *degrees, const char *text)
{
    fprintf(svg->out, "<text transform=\"translate(%.1f %.1f) rotate(%s)\"", clamp_coordinate(x), clamp_coordinate(y),
            degrees);
    write_text_element(svg, style, text);
}

void lab_svg_text_vertical(lab_svg *svg, double x, double y, lab_text_style style, const char *text)
{
    lab_box flat = text_box(0, 0, style, text);
    reserve_text_box(svg, (lab_box){x + flat.y, y - flat.x - flat.width, flat.height, flat.width});
    write_rotated(svg, x, y, style, "-90", text);
}

/* Returns a small box around the point at the distance `along` from the start of a sloping text. */
static lab_box box_along(double x, double y, double size, double degrees, double along)
{
    double angle = degrees * 3.14159265358979 / 180, lift = 0.35 * size;
    return (lab_box){x + along * cos(angle) + lift * sin(angle) - size / 2,
                     y + along * sin(angle) - lift * cos(angle) - size / 2, size, size};
}

bool lab_svg_text_rotated(lab_svg *svg, double x, double y, lab_text_style style, double degrees, const char *text)
{
    double length = lab_svg_text_width(text, style.size), step = style.size / 2;
    char slope[32];
    for (double along = 0; along <= length; along += step)
        if (!is_free(svg, box_along(x, y, style.size, degrees, along)))
            return false;
    for (double along = 0; along <= length; along += step)
        reserve_text_box(svg, box_along(x, y, style.size, degrees, along));
    snprintf(slope, sizeof slope, "%.1f", degrees);
    write_rotated(svg, x, y, style, slope, text);
    return true;
}

/* ---- Styles ---- */

void lab_svg_page_style(FILE *out)
{
    fputs(":root{color-scheme:light dark", out);
    for (int i = 0; i < LAB_COLOUR_COUNT; i++)
        fprintf(out, ";--%s:%s", colours[i].name, colours[i].light);
    fputs("}\n@media screen and (prefers-color-scheme:dark){:root{", out);
    for (int i = 0; i < LAB_COLOUR_COUNT; i++)
        fprintf(out, "%s--%s:%s", i > 0 ? ";" : "", colours[i].name, colours[i].dark);
    fputs("}}\n", out);
    for (int i = 0; i < LAB_COLOUR_COUNT; i++)
        fprintf(out, ".f-%s{fill:var(--%s)}.k-%s{stroke:var(--%s)}\n", colours[i].name, colours[i].name,
                colours[i].name, colours[i].name);
}

void lab_svg_standalone_style(FILE *out)
{
    fputs("<style>@media (prefers-color-scheme:dark){", out);
    for (int i = 0; i < LAB_COLOUR_COUNT; i++)
        fprintf(out, ".f-%s{fill:%s}.k-%s{stroke:%s}", colours[i].name, colours[i].dark, colours[i].name,
                colours[i].dark);
    fputs("}</style>\n", out);
}
