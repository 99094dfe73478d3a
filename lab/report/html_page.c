/* SPDX-License-Identifier: Apache-2.0 */
/* html_page.c - see html_page.h. */
#include "report/html_page.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/failure.h"
#include "report/chart.h"

/* Widths of a chart on a desktop and on a phone, and the margin of a chart in a file of its own. */
enum { WIDE_WIDTH = 860, NARROW_WIDTH = 350, FILE_MARGIN = 24, FILE_HEADER_HEIGHT = 58 };

static const char FONT[] = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', "
                           "sans-serif";

/* ---- The page ---- */

static const char page_style[] =
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

/* For phones and for paper. */
static const char small_and_print_style[] =
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
    lab_html_write(
        page->out,
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>%s</title>\n<style>\n",
        title);
    lab_svg_page_style(page->out);
    fprintf(page->out, "body{font-family:%s}\n%s%s%s</style>\n</head>\n<body>\n<header>\n", FONT, page_style,
            small_and_print_style, page->style ? page->style : "");
    lab_html_write(page->out, "<p class=\"eyebrow\">%s</p>\n<h1>%s</h1>\n",
                   page->eyebrow ? page->eyebrow : "rung report", title);
    page->open_element = "header";
}

void lab_page_section(lab_page *page, const char *id, const char *title)
{
    lab_html_write(page->out, "</%s>\n<section id=\"%s\">\n<h2>%s</h2>\n", page->open_element, id, title);
    page->open_element = "section";
}

void lab_page_text(lab_page *page, const char *kind, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lab_html_write(page->out, "<p class=\"%s\">%s</p>\n", kind, text);
}

void lab_page_end(lab_page *page)
{
    fprintf(page->out,
            "</%s>\n<footer>Drawn by rung %s. %s</footer>\n"
            "</body>\n</html>\n",
            page->open_element, page->version,
            page->footer ? page->footer : "This file needs no network and runs no script.");
    free(page->slugs);
    page->slugs = NULL;
}

/* ---- Charts ---- */

/* Makes a unique name of lowercase letters, digits and dashes. */
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
            i = -1; /* the new name may be taken, too */
        }
}

static bool remember_slug(lab_page *page, const char *slug)
{
    char(*larger)[64] = realloc(page->slugs, (size_t)(page->figure_count + 1) * sizeof *larger);
    if (!larger)
        return lab_set_reason(page->why, sizeof page->why, "out of memory");
    page->slugs = larger;
    snprintf(page->slugs[page->figure_count++], 64, "%s", slug);
    return true;
}

/* Returns the elements of a chart, which the caller frees, and its height; NULL if memory is exhausted. */
static char *render_figure(const lab_figure *figure, bool is_narrow, double *height)
{
    char *body = NULL;
    size_t length;
    lab_svg svg = {.width = is_narrow ? NARROW_WIDTH : WIDE_WIDTH, .is_narrow = is_narrow};
    svg.out = open_memstream(&body, &length);
    if (!svg.out)
        return NULL;
    figure->draw(&svg, figure->data);
    *height = ceil(svg.height);
    if (fclose(svg.out) == 0)
        return body;
    free(body);
    return NULL;
}

static void write_svg_title(FILE *out, const lab_figure *figure, const char *id)
{
    lab_html_write(out, "<title id=\"%s-t\">%s%s%s</title><desc id=\"%s-d\">%s</desc>\n", id, figure->title,
                   figure->context ? ", " : "", figure->context ? figure->context : "", id, figure->description);
}

static void write_inline_svg(lab_page *page, const lab_figure *figure, const char *slug, bool is_narrow)
{
    double height = 0;
    char id[80], *body = render_figure(figure, is_narrow, &height);
    if (!body) {
        snprintf(page->why, sizeof page->why, "out of memory");
        return;
    }
    snprintf(id, sizeof id, "%s-%c", slug, is_narrow ? 'n' : 'w');
    fprintf(page->out,
            "<svg class=\"%s\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
            "aria-labelledby=\"%s-t %s-d\" font-family=\"%s\">\n",
            is_narrow ? "narrow" : "wide", is_narrow ? NARROW_WIDTH : WIDE_WIDTH, height, id, id, FONT);
    write_svg_title(page->out, figure, id);
    fprintf(page->out, "%s</svg>\n", body);
    free(body);
}

/* ---- Charts and their numbers as files ---- */

/* Returns NULL with a sentence in page->why if the file cannot be created. */
static FILE *open_chart_file(lab_page *page, const char *slug, const char *ending, lab_output_file *output)
{
    char path[LAB_OUTPUT_PATH_BYTES];
    if (mkdir(page->charts_folder, 0777) != 0 && errno != EEXIST) {
        snprintf(page->why, sizeof page->why, "folder %s cannot be created: %s", page->charts_folder, strerror(errno));
        return NULL;
    }
    if (snprintf(path, sizeof path, "%s/%s.%s", page->charts_folder, slug, ending) >= (int)sizeof path) {
        snprintf(page->why, sizeof page->why, "%s: the path is too long", page->charts_folder);
        return NULL;
    }
    if (!lab_output_open(path, output))
        snprintf(page->why, sizeof page->why, "%s cannot be written: %s", path, strerror(errno));
    return output->stream;
}

static void commit_chart_file(lab_page *page, lab_output_file *output)
{
    if (!lab_output_commit(output))
        snprintf(page->why, sizeof page->why, "%s cannot be written: %s", output->path, strerror(errno));
}

/* Writes the title and, at the right, the context and kind of the numbers. */
static void write_file_header(FILE *out, const lab_figure *figure, double width, double height)
{
    char beside[320];
    lab_svg svg = {.out = out, .width = width};
    snprintf(beside, sizeof beside, "%.240s%s%s", figure->context ? figure->context : "", figure->context ? ", " : "",
             figure->kind);
    lab_svg_rect(&svg, (lab_box){0, 0, width, height}, LAB_COLOUR_paper, 0);
    lab_svg_text_within(&svg, FILE_MARGIN, 34, (lab_text_style){.size = 16, .colour = LAB_COLOUR_ink, .is_bold = true},
                        WIDE_WIDTH / 2, figure->title);
    lab_svg_text_within(&svg, FILE_MARGIN + WIDE_WIDTH, 34, lab_tick_style(LAB_ANCHOR_END), WIDE_WIDTH / 2 - 40,
                        beside);
}

static void write_svg_file(lab_page *page, const lab_figure *figure, const char *slug)
{
    double height = 0;
    char *body = render_figure(figure, false, &height);
    lab_output_file output;
    FILE *out = body ? open_chart_file(page, slug, "svg", &output) : NULL;
    if (out) {
        double wide = WIDE_WIDTH + 2 * FILE_MARGIN, high = height + FILE_HEADER_HEIGHT + FILE_MARGIN;
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                "role=\"img\" aria-labelledby=\"%s-t %s-d\" font-family=\"%s\">\n",
                wide, high, wide, high, slug, slug, FONT);
        write_svg_title(out, figure, slug);
        lab_svg_standalone_style(out);
        write_file_header(out, figure, wide, high);
        fprintf(out, "<g transform=\"translate(%d %d)\">\n%s</g>\n</svg>\n", FILE_MARGIN, FILE_HEADER_HEIGHT, body);
        commit_chart_file(page, &output);
    }
    free(body);
}

static void write_csv(lab_page *page, const lab_data_table *grid, const char *slug)
{
    lab_output_file output;
    FILE *out = open_chart_file(page, slug, "csv", &output);
    if (!out)
        return;
    for (int64_t i = 0; i < grid->count; i++) {
        lab_csv_write(out, grid->cells[i]);
        fputc((i + 1) % grid->columns == 0 ? '\n' : ',', out);
    }
    commit_chart_file(page, &output);
}

void lab_page_figure(lab_page *page, const lab_figure *figure)
{
    char slug[64], summary[320];
    make_slug(page, figure->slug, slug);
    if (!remember_slug(page, slug))
        return;
    lab_html_write(page->out,
                   "<figure id=\"%s\">\n<figcaption><h3>%s<span class=\"kind\">%s</span></h3>\n"
                   "<p>%s</p></figcaption>\n",
                   slug, figure->title, figure->kind, figure->caption);
    write_inline_svg(page, figure, slug, false);
    write_inline_svg(page, figure, slug, true);
    snprintf(summary, sizeof summary, "As a table: %.280s", figure->title);
    lab_page_details(page, summary, figure->grid);
    fputs("</figure>\n", page->out);
    if (page->charts_folder && !*page->why)
        write_svg_file(page, figure, slug);
    if (page->charts_folder && !*page->why)
        write_csv(page, figure->grid, slug);
}
