/* SPDX-License-Identifier: Apache-2.0 */
/* race_figure.c - draws a conflict of two threads: an arrow from each thread to the line where it was. */
#include <math.h>
#include <string.h>

#include "kernel_page/page_parts.h"

typedef struct race_drawing {
    const lab_finding *finding;
    char threads[2][96], doings[2][32], lines[2][32], code[2][160];
} race_drawing_t;

static void describe_side(const lab_kernel_page *page, const lab_finding_thread *thread, int line, int side,
                          race_drawing_t *race)
{
    static const char *const doings[] = {"is at", "reads in", "writes in", "updates in"};
    char text[160];
    snprintf(race->threads[side], sizeof race->threads[side], "block (%u, %u, %u), thread (%u, %u, %u)",
             thread->block[0], thread->block[1], thread->block[2], thread->thread[0], thread->thread[1],
             thread->thread[2]);
    snprintf(race->doings[side], sizeof race->doings[side], "%s", doings[thread->access]);
    snprintf(race->lines[side], sizeof race->lines[side], "line %d", line);
    lab_source_line(page->source, line, text, sizeof text);
    snprintf(race->code[side], sizeof race->code[side], "%s", text + strspn(text, " \t"));
}

/* Draws an arrow with its head at the second point. */
static void draw_arrow(lab_svg *svg, double x1, double y1, double x2, double y2, lab_chart_colour colour)
{
    enum { HEAD = 9 };
    double length = hypot(x2 - x1, y2 - y1), dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    const double x[] = {x2 - HEAD * dx + HEAD / 2.0 * dy, x2, x2 - HEAD * dx - HEAD / 2.0 * dy};
    const double y[] = {y2 - HEAD * dy - HEAD / 2.0 * dx, y2, y2 - HEAD * dy + HEAD / 2.0 * dx};
    lab_svg_line(svg, x1, y1, x2, y2, colour, 2, "");
    lab_svg_polyline(svg, x, y, 3, colour, 2, "");
}

static void draw_box(lab_svg *svg, lab_box box, const char *title, const char *text, lab_chart_colour colour)
{
    lab_text_style bold = {.size = 13, .colour = LAB_COLOUR_ink, .is_bold = true};
    lab_text_style plain = {.size = 12, .colour = LAB_COLOUR_soft};
    lab_svg_rect(svg, box, LAB_COLOUR_card, 6);
    lab_svg_rect(svg, (lab_box){box.x, box.y, 4, box.height}, colour, 0);
    lab_svg_text_within(svg, box.x + 14, box.y + 20, bold, box.width - 20, title);
    lab_svg_text_within(svg, box.x + 14, box.y + 38, plain, box.width - 20, text);
}

static const lab_chart_colour side_colours[2] = {LAB_COLOUR_warm0, LAB_COLOUR_cool4};

/* Threads at the left, lines at the right. If both are in the same line, both arrows end at it. */
static void draw_wide(lab_svg *svg, const race_drawing_t *race, bool is_same)
{
    enum { HEIGHT = 48, GAP = 44, THREADS = 270, LINES = 400 };
    for (int side = 0; side < 2; side++) {
        double y = side * (HEIGHT + GAP), line_y = is_same ? (HEIGHT + GAP) / 2.0 : y;
        double end_y = line_y + HEIGHT / 2.0 + (is_same ? side * 14 - 7 : 0);
        draw_box(svg, (lab_box){0, y, THREADS, HEIGHT}, side == 0 ? "one thread" : "another thread",
                 race->threads[side], side_colours[side]);
        draw_arrow(svg, THREADS + 6, y + HEIGHT / 2.0, svg->width - LINES - 6, end_y, side_colours[side]);
        lab_text_style style = {.size = 12, .colour = LAB_COLOUR_ink, .anchor = LAB_ANCHOR_MIDDLE, .has_halo = true};
        lab_svg_text(svg, (THREADS + svg->width - LINES) / 2, (y + HEIGHT / 2.0 + end_y) / 2 - 7, style,
                     race->doings[side]);
        if (side == 0 || !is_same)
            draw_box(svg, (lab_box){svg->width - LINES, line_y, LINES, HEIGHT}, race->lines[side], race->code[side],
                     side_colours[side]);
    }
    svg->height = 2 * HEIGHT + GAP + 2;
}

/* One below the other, for a phone: a thread, its line, and the same again from below. */
static void draw_narrow(lab_svg *svg, const race_drawing_t *race, bool is_same)
{
    enum { HEIGHT = 48, ARROW = 34, GAP = 16 };
    double y = 0;
    for (int side = 0; side < 2; side++) {
        bool is_upwards = is_same && side == 1;
        lab_text_style style = {.size = 12, .colour = LAB_COLOUR_ink};
        if (is_upwards) { /* the second thread is below the line that both share */
            y -= GAP;
            draw_arrow(svg, 30, y + ARROW - 2, 30, y + 3, side_colours[side]);
            lab_svg_text(svg, 44, y + ARROW / 2.0 + 4, style, race->doings[side]);
            y += ARROW;
        }
        draw_box(svg, (lab_box){0, y, svg->width, HEIGHT}, side == 0 ? "one thread" : "another thread",
                 race->threads[side], side_colours[side]);
        y += HEIGHT;
        if (!is_upwards) {
            draw_arrow(svg, 30, y + 2, 30, y + ARROW - 3, side_colours[side]);
            lab_svg_text(svg, 44, y + ARROW / 2.0 + 4, style, race->doings[side]);
            y += ARROW;
            draw_box(svg, (lab_box){0, y, svg->width, HEIGHT}, race->lines[side], race->code[side], side_colours[side]);
            y += HEIGHT + GAP;
        }
    }
    svg->height = y;
}

static void draw_race(lab_svg *svg, const void *data)
{
    const race_drawing_t *race = data;
    bool is_same = race->finding->line == race->finding->other_line;
    if (svg->is_narrow)
        draw_narrow(svg, race, is_same);
    else
        draw_wide(svg, race, is_same);
}

void lab_page_race_figure(lab_page *out, const lab_kernel_page *page, const lab_finding *finding)
{
    race_drawing_t race = {.finding = finding};
    char slug[64], title[128];
    lab_data_table grid;
    describe_side(page, &finding->thread, finding->line, 0, &race);
    describe_side(page, &finding->other_thread, finding->other_line, 1, &race);
    lab_data_table_begin(&grid, 4, "llll", (const char *[]){"thread", "access", "line", "source"});
    for (int side = 0; side < 2; side++) {
        lab_data_table_add(&grid, "%s", race.threads[side]);
        lab_data_table_add(&grid, "%s", race.doings[side]);
        lab_data_table_add(&grid, "%s", race.lines[side]);
        lab_data_table_add(&grid, "%s", race.code[side]);
    }
    snprintf(slug, sizeof slug, "finding %s %d", finding->kind, finding->line);
    if (finding->line == finding->other_line)
        snprintf(title, sizeof title, "%s: line %d", finding->kind, finding->line);
    else
        snprintf(title, sizeof title, "%s: lines %d and %d", finding->kind, finding->line, finding->other_line);
    lab_page_figure(out, &(lab_figure){.slug = slug,
                                       .title = title,
                                       .kind = "found by the emulator",
                                       .caption = finding->fix ? finding->fix : "",
                                       .description = "Two threads and the source lines where they conflict.",
                                       .draw = draw_race,
                                       .data = &race,
                                       .grid = &grid});
    lab_data_table_free(&grid);
}
