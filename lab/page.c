/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h. */
#define _GNU_SOURCE /* vasprintf */
#include "page.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "chart.h"

/* A picture on a desk and on a telephone, and the edge around one that stands alone. */
enum { WIDE = 860, NARROW = 350, EDGE = 24, HEAD = 58 };

static const char FONT[] = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', "
                           "sans-serif";

/* ---- Tables ----------------------------------------------------------------------------------------- */

static void add_cell(lab_grid *grid, const char *text)
{
    if (grid->count == grid->room) {
        int64_t room = grid->room > 0 ? 2 * grid->room : 256;
        char **larger = realloc(grid->cells, (size_t)room * sizeof *larger);
        if (!larger) {
            grid->is_lost = true;
            return;
        }
        grid->cells = larger;
        grid->room = room;
    }
    char *copy = malloc(strlen(text) + 1);
    if (copy)
        grid->cells[grid->count++] = strcpy(copy, text);
    else
        grid->is_lost = true;
}

void lab_grid_begin(lab_grid *grid, int columns, const char *align, const char *const *heads)
{
    *grid = (lab_grid){.columns = columns, .align = align};
    for (int i = 0; i < columns; i++)
        add_cell(grid, heads[i]);
}

void lab_grid_add(lab_grid *grid, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text)
        add_cell(grid, text);
    else
        grid->is_lost = true;
    free(text);
}

void lab_grid_number(lab_grid *grid, double value)
{
    char text[40] = "-";
    if (value > 0)
        lab_write_short(value, text, sizeof text);
    add_cell(grid, text);
}

int64_t lab_grid_rows(const lab_grid *grid)
{
    return grid->columns > 0 && grid->count > grid->columns ? grid->count / grid->columns - 1 : 0;
}

void lab_grid_free(lab_grid *grid)
{
    for (int64_t i = 0; i < grid->count; i++)
        free(grid->cells[i]);
    free(grid->cells);
    *grid = (lab_grid){0};
}

void lab_write_exact(double value, char *text, size_t capacity)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, capacity, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && (!*end || strcmp(end, " %") == 0 || strcmp(end, " x") == 0);
}

/* A column of numbers and gaps. */
static bool is_right(const lab_grid *grid, int column)
{
    bool any = false;
    if (grid->align)
        return grid->align[column] == 'r';
    for (int64_t i = grid->columns + column; i < grid->count; i += grid->columns) {
        const char *cell = grid->cells[i];
        if (!*cell || strcmp(cell, "-") == 0)
            continue;
        if (!is_number(cell))
            return false;
        any = true;
    }
    return any;
}

/* Short words stay on a line, long ones get room to wrap in. */
static void write_cell(lab_page *page, const char *tag, bool is_right, const char *text)
{
    enum { SHORT = 34 };
    fprintf(page->out, "<%s%s>", tag, is_right ? " class=\"r\"" : strlen(text) > SHORT ? " class=\"w\"" : "");
    lab_escape(page->out, text);
    fprintf(page->out, "</%.2s>", tag);
}

/* Nothing but gaps: not shown. */
static bool is_bare(const lab_grid *grid, int column)
{
    for (int64_t i = grid->columns + column; i < grid->count; i += grid->columns)
        if (*grid->cells[i] && strcmp(grid->cells[i], "-") != 0)
            return false;
    return true;
}

static void write_row(lab_page *page, const lab_grid *grid, int64_t row, const char *looks)
{
    fputs("<tr>", page->out);
    for (int i = 0; i < grid->columns; i++)
        if (looks[i])
            write_cell(page,
                       row == 0 ? "th scope=\"col\""
                       : i == 0 ? "th scope=\"row\""
                                : "td",
                       looks[i] == 'r', grid->cells[row * grid->columns + i]);
    fputs("</tr>\n", page->out);
}

static void write_table(lab_page *page, const char *caption, const lab_grid *grid)
{
    char *looks = calloc((size_t)grid->columns + 1, 1); /* of each column l, r, or 0 where it is not shown */
    if (grid->is_lost || !looks) {
        snprintf(page->why, sizeof page->why, "out of memory");
        free(looks);
        return;
    }
    for (int i = 0; i < grid->columns; i++)
        looks[i] = i > 0 && is_bare(grid, i) ? 0 : is_right(grid, i) ? 'r' : 'l';
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", page->out);
    lab_escape(page->out, caption);
    fputs("\"><table><caption>", page->out);
    lab_escape(page->out, caption);
    fputs("</caption>\n<thead>", page->out);
    write_row(page, grid, 0, looks);
    fputs("</thead>\n<tbody>\n", page->out);
    for (int64_t row = 1; row <= lab_grid_rows(grid); row++)
        write_row(page, grid, row, looks);
    fputs("</tbody></table></div>\n", page->out);
    free(looks);
}

void lab_page_table(lab_page *page, const char *caption, const lab_grid *grid)
{
    if (lab_grid_rows(grid) > 0)
        write_table(page, caption, grid);
}

void lab_page_details(lab_page *page, const char *summary, const lab_grid *grid)
{
    if (lab_grid_rows(grid) == 0)
        return;
    fputs("<details><summary>", page->out);
    lab_escape(page->out, summary);
    fputs("</summary>\n", page->out);
    write_table(page, summary, grid);
    fputs("</details>\n", page->out);
}

/* ---- The page --------------------------------------------------------------------------------------- */

static const char style[] =
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}\n"
    "body{margin:0 auto;max-width:908px;padding:0 24px 80px;background:var(--paper);color:var(--ink);line-height:1.55;"
    "font-size:16px;overflow-wrap:break-word}\n"
    "header{padding:56px 0 8px}\n"
    ".eyebrow{margin:0;font-size:13px;font-weight:600;letter-spacing:.08em;text-transform:uppercase;"
    "color:var(--link)}\n"
    "h1{font-size:38px;line-height:1.15;letter-spacing:-.02em;margin:8px 0 12px;text-wrap:balance}\n"
    "h2{font-size:25px;line-height:1.25;letter-spacing:-.01em;margin:0 0 4px}\n"
    "h3{font-size:17.5px;line-height:1.3;margin:0}\n"
    "p{margin:8px 0;max-width:72ch}\n"
    "a{color:var(--link);text-underline-offset:.18em;text-decoration-thickness:1px}\n"
    "section{margin:64px 0 0;padding-top:28px;border-top:1px solid var(--rule)}\n"
    "figure{margin:40px 0 0}\n"
    "figcaption{margin-bottom:18px}\n"
    "figure p,.soft{color:var(--soft);font-size:15px}\n"
    "figure p{margin:5px 0 0}\n"
    ".lead{font-size:17px;color:var(--soft)}\n"
    ".warn{border-left:3px solid var(--warm0);padding:2px 0 2px 14px}\n"
    ".kind{display:inline-block;margin-left:10px;padding:1px 9px;border:1px solid var(--axis);border-radius:99px;"
    "font-size:12px;font-weight:500;color:var(--soft);vertical-align:2px;white-space:nowrap}\n"
    "nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:6px 22px;padding:0;margin:30px 0 0;font-size:15px}\n"
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(196px,1fr));gap:14px;margin:30px 0 0;padding:0;"
    "list-style:none}\n"
    ".cards li{background:var(--card);border-radius:10px;padding:15px 17px 14px}\n"
    ".cards b{display:block;font-size:29px;line-height:1.15;font-weight:650;letter-spacing:-.02em;"
    "font-variant-numeric:tabular-nums}\n"
    ".cards small{font-size:14px;font-weight:500;letter-spacing:0;color:var(--soft)}\n"
    ".cards span{display:block;font-size:14px;line-height:1.45;color:var(--soft)}\n"
    ".cards .what{color:var(--ink);font-weight:500;margin-top:3px}.cards .beside{color:var(--ink)}\n"
    "svg{display:block;width:100%;height:auto;overflow:hidden}\n"
    "svg.narrow{display:none}\n"
    ".scroll{overflow-x:auto;margin:14px 0 0;border:1px solid var(--rule);border-radius:8px}\n"
    ".scroll:focus-visible{outline:2px solid var(--link)}\n"
    "table{border-collapse:collapse;width:100%;font-size:14px;line-height:1.4;font-variant-numeric:tabular-nums}\n"
    "caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}\n"
    "th,td{text-align:left;padding:7px 12px;border-bottom:1px solid var(--rule);vertical-align:top;font-weight:400}\n"
    "td,tbody th{white-space:nowrap}\n"
    "td.w,tbody th.w{white-space:normal;min-width:20em;overflow-wrap:anywhere}\n"
    "thead th{font-weight:600;font-size:13px;line-height:1.3;color:var(--soft);background:var(--card);"
    "vertical-align:bottom}\n"
    "tbody tr:last-child>*{border-bottom:0}\n"
    ".r{text-align:right}\n"
    "details{margin:12px 0 0}details+details{margin:0}\n"
    "summary{cursor:pointer;font-size:14.5px;color:var(--link);padding:4px 0}\n"
    "code{font-size:.92em;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}\n"
    "dl{margin:18px 0 0;display:grid;grid-template-columns:max-content 1fr;gap:10px 20px;font-size:15px}\n"
    "dt{font-weight:600}dd{margin:0;max-width:64ch;color:var(--soft)}\n"
    "footer{margin-top:64px;padding-top:20px;border-top:1px solid var(--rule);font-size:14px;color:var(--soft)}\n";

/* On a telephone, and on paper. */
static const char other_style[] =
    "@media (max-width:680px){body{padding:0 20px 56px}header{padding-top:32px}h1{font-size:29px}h2{font-size:22px}"
    "section{margin-top:48px;padding-top:22px}svg.wide{display:none}svg.narrow{display:block}"
    ".cards{grid-template-columns:1fr 1fr;gap:10px}.cards li{padding:12px 13px}.cards b{font-size:23px}"
    "th,td{padding:6px 9px}td.w,tbody th.w{min-width:13em}.kind{margin-left:0;margin-right:8px}"
    "h3{display:flex;flex-wrap:wrap;gap:6px 10px;align-items:center}"
    "dl{grid-template-columns:1fr;gap:2px}dd{margin-bottom:10px}}\n"
    "@media print{body{max-width:none;padding:0;font-size:11pt}header{padding-top:0}nav{display:none}"
    "section{margin-top:28px;break-inside:auto}figure,.cards li,tr{break-inside:avoid}h2,h3{break-after:avoid}"
    "svg.wide{display:block}svg.narrow{display:none}"
    ".scroll{overflow:visible;border:0}table{font-size:8.5pt}th,td{padding:3px 5px}"
    "td,thead th,tbody th{white-space:normal!important;min-width:0!important}"
    "td,th{overflow-wrap:break-word}#fields td,#fields th{overflow-wrap:anywhere;font-size:6.5pt}"
    "details::details-content{content-visibility:visible;display:block;block-size:auto}"
    "summary{color:var(--soft);list-style:none}a{color:inherit;text-decoration:none}}\n"
    "@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}\n";

void lab_page_begin(lab_page *page, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
          "charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          page->out);
    lab_escape(page->out, title);
    fputs("</title>\n<style>\n", page->out);
    lab_svg_page_style(page->out);
    fprintf(page->out,
            "body{font-family:%s}\n%s%s</style>\n</head>\n<body>\n<header>\n<p class=\"eyebrow\">rung report</p>\n<h1>",
            FONT, style, other_style);
    lab_escape(page->out, title);
    fputs("</h1>\n", page->out);
    page->open = "header";
}

void lab_page_section(lab_page *page, const char *id, const char *title)
{
    fprintf(page->out, "</%s>\n<section id=\"", page->open);
    page->open = "section";
    lab_escape(page->out, id);
    fputs("\">\n<h2>", page->out);
    lab_escape(page->out, title);
    fputs("</h2>\n", page->out);
}

void lab_page_text(lab_page *page, const char *kind, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(page->out, "<p%s%s%s>", *kind ? " class=\"" : "", kind, *kind ? "\"" : "");
    lab_escape(page->out, text);
    fputs("</p>\n", page->out);
}

void lab_page_end(lab_page *page)
{
    fprintf(page->out,
            "</%s>\n<footer>Drawn by rung %s. This file needs no network and runs no script.</footer>\n"
            "</body>\n</html>\n",
            page->open, page->version);
    free(page->slugs);
    page->slugs = NULL;
}

/* ---- Pictures --------------------------------------------------------------------------------------- */

/* Small letters, digits and dashes, and no two alike. */
static void make_slug(lab_page *page, const char *wanted, char slug[64])
{
    size_t used = 0;
    char base[48];
    for (; *wanted && used + 1 < sizeof base; wanted++) {
        if (isalnum((unsigned char)*wanted) && (unsigned char)*wanted < 0x80)
            base[used++] = (char)tolower((unsigned char)*wanted);
        else if (used > 0 && base[used - 1] != '-')
            base[used++] = '-';
    }
    while (used > 0 && base[used - 1] == '-')
        used--;
    base[used] = '\0';
    snprintf(slug, 64, "%s", base);
    for (int i = 0, copies = 1; i < page->figure_count; i++)
        if (strcmp(page->slugs[i], slug) == 0) {
            snprintf(slug, 64, "%s-%d", base, ++copies);
            i = -1; /* that one may be taken, too */
        }
}

static bool remember_slug(lab_page *page, const char *slug)
{
    char(*larger)[64] = realloc(page->slugs, (size_t)(page->figure_count + 1) * sizeof *larger);
    if (!larger) {
        snprintf(page->why, sizeof page->why, "out of memory");
        return false;
    }
    page->slugs = larger;
    snprintf(page->slugs[page->figure_count++], 64, "%s", slug);
    return true;
}

/* What a drawing consists of, and its height; NULL if there is no memory. */
static char *draw(const lab_figure *figure, bool is_narrow, double *height)
{
    char *body = NULL;
    size_t length;
    lab_svg *svg = calloc(1, sizeof *svg);
    FILE *out = svg ? open_memstream(&body, &length) : NULL;
    if (out) {
        svg->out = out;
        svg->width = is_narrow ? NARROW : WIDE;
        svg->is_narrow = is_narrow;
        figure->draw(svg, figure->data);
        *height = ceil(svg->height);
        if (fclose(out) != 0) {
            free(body);
            body = NULL;
        }
    }
    free(svg);
    return body;
}

static void write_names(FILE *out, const lab_figure *figure, const char *id)
{
    fprintf(out, "<title id=\"%s-t\">", id);
    lab_escape(out, figure->title);
    if (figure->context) {
        fputs(", ", out);
        lab_escape(out, figure->context);
    }
    fprintf(out, "</title><desc id=\"%s-d\">", id);
    lab_escape(out, figure->description);
    fputs("</desc>\n", out);
}

static void write_inline(lab_page *page, const lab_figure *figure, const char *slug, bool is_narrow)
{
    double height = 0;
    char id[80], *body = draw(figure, is_narrow, &height);
    if (!body) {
        snprintf(page->why, sizeof page->why, "out of memory");
        return;
    }
    snprintf(id, sizeof id, "%s-%c", slug, is_narrow ? 'n' : 'w');
    fprintf(page->out,
            "<svg class=\"%s\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
            "aria-labelledby=\"%s-t %s-d\" font-family=\"%s\">\n",
            is_narrow ? "narrow" : "wide", is_narrow ? NARROW : WIDE, height, id, id, FONT);
    write_names(page->out, figure, id);
    fprintf(page->out, "%s</svg>\n", body);
    free(body);
}

/* ---- Pictures and numbers as files of their own ---- */

/* NULL after a sentence in page->why. */
static FILE *open_chart(lab_page *page, const char *slug, const char *ending, lab_output_file *output)
{
    char path[LAB_OUTPUT_PATH];
    if (mkdir(page->charts, 0777) != 0 && errno != EEXIST) {
        snprintf(page->why, sizeof page->why, "folder %s cannot be created: %s", page->charts, strerror(errno));
        return NULL;
    }
    if (snprintf(path, sizeof path, "%s/%s.%s", page->charts, slug, ending) >= (int)sizeof path) {
        snprintf(page->why, sizeof page->why, "%s: the path is too long", page->charts);
        return NULL;
    }
    if (!lab_output_begin(path, output))
        snprintf(page->why, sizeof page->why, "%s cannot be written: %s", path, strerror(errno));
    return output->stream;
}

static void close_chart(lab_page *page, lab_output_file *output)
{
    if (!lab_output_commit(output))
        snprintf(page->why, sizeof page->why, "%s cannot be written: %s", output->path, strerror(errno));
}

static void write_alone(lab_page *page, const lab_figure *figure, const char *slug)
{
    double height = 0;
    char title[256], *body = draw(figure, false, &height);
    lab_output_file output;
    FILE *out = body ? open_chart(page, slug, "svg", &output) : NULL;
    if (out) {
        double wide = WIDE + 2 * EDGE, high = height + HEAD + EDGE;
        char beside[320];
        lab_svg *head = calloc(1, sizeof *head);
        snprintf(beside, sizeof beside, "%.240s%s%s", figure->context ? figure->context : "",
                 figure->context ? ", " : "", figure->kind);
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                "role=\"img\" "
                "aria-labelledby=\"%s-t %s-d\" font-family=\"%s\">\n",
                wide, high, wide, high, slug, slug, FONT);
        write_names(out, figure, slug);
        lab_svg_own_style(out);
        if (head) {
            *head = (lab_svg){.out = out, .width = wide};
            lab_svg_rect(head, (lab_box){0, 0, wide, high}, LAB_paper, 0);
            lab_svg_text_cut(figure->title, 16, WIDE / 2, title, sizeof title);
            lab_svg_text(head, (lab_words){.x = EDGE, .y = 34, .size = 16, .colour = LAB_ink, .is_bold = true}, title);
            lab_svg_text_cut(beside, 12, WIDE / 2 - 40, title, sizeof title);
            lab_svg_text(
                head, (lab_words){.x = EDGE + WIDE, .y = 34, .size = 12, .colour = LAB_soft, .anchor = LAB_END}, title);
            free(head);
        }
        fprintf(out, "<g transform=\"translate(%d %d)\">\n%s</g>\n</svg>\n", EDGE, HEAD, body);
        close_chart(page, &output);
    }
    free(body);
}

static void write_quoted(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_csv(lab_page *page, const lab_grid *grid, const char *slug)
{
    lab_output_file output;
    FILE *out = open_chart(page, slug, "csv", &output);
    if (!out)
        return;
    for (int64_t i = 0; i < grid->count; i++) {
        write_quoted(out, grid->cells[i]);
        fputc((i + 1) % grid->columns == 0 ? '\n' : ',', out);
    }
    close_chart(page, &output);
}

void lab_page_figure(lab_page *page, const lab_figure *figure)
{
    char slug[64], summary[320];
    make_slug(page, figure->slug, slug);
    if (!remember_slug(page, slug))
        return;
    fprintf(page->out, "<figure id=\"%s\">\n<figcaption><h3>", slug);
    lab_escape(page->out, figure->title);
    fprintf(page->out, "<span class=\"kind\">%s</span></h3>\n<p>", figure->kind);
    lab_escape(page->out, figure->caption);
    fputs("</p></figcaption>\n", page->out);
    write_inline(page, figure, slug, false);
    write_inline(page, figure, slug, true);
    snprintf(summary, sizeof summary, "As a table: %.280s", figure->title);
    lab_page_details(page, summary, figure->grid);
    fputs("</figure>\n", page->out);
    if (page->charts && !*page->why)
        write_alone(page, figure, slug);
    if (page->charts && !*page->why)
        write_csv(page, figure->grid, slug);
}
