/* SPDX-License-Identifier: Apache-2.0 */
/* page_document.c - the document and its sections; see kernel_page.h. */
#include "kernel_page/kernel_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "common/text.h"
#include "io/output_file.h"
#include "io/xml_escape.h"
#include "kernel_page/page_parts.h"
#include "kernel_page/sources.h"

/* ---- Header ---- */

static void write_card(FILE *out, const char *number, const char *unit, const char *what, const char *beside)
{
    lab_html_write(
        out, "<li><b>%s <small>%s</small></b><span class=\"what\">%s</span><span class=\"beside\">%s</span></li>\n",
        number, unit, what, beside);
}

static void write_ratio_card(FILE *out, double ratio, double ideal, const char *unit, const char *what)
{
    char number[32], beside[64];
    if (!(ideal > 0))
        return;
    snprintf(number, sizeof number, "%.3g", ratio);
    snprintf(beside, sizeof beside, "%.3g are enough", ideal);
    write_card(out, number, unit, what, beside);
}

static void write_cards(FILE *out, const lab_explanation *explanation)
{
    const lab_prediction *prediction = &explanation->prediction;
    char number[32], beside[96];
    fputs("<ul class=\"cards\">\n", out);
    if (prediction->runs) {
        snprintf(number, sizeof number, "%.0f", prediction->gflops);
        snprintf(beside, sizeof beside, "%.0f to %.0f; limited by %s", prediction->gflops / prediction->uncertainty,
                 prediction->gflops * prediction->uncertainty, lab_bottleneck_title(prediction->bound));
        write_card(out, number, "GFLOPS", "predicted speed", beside);
    }
    if (explanation->is_counted) {
        write_ratio_card(out, lab_sectors_per_request(explanation), lab_sectors_ideal(explanation), "sectors",
                         "per global request");
        write_ratio_card(out, lab_wavefronts_per_request(explanation), lab_wavefronts_ideal(explanation), "wavefronts",
                         "per shared request");
    }
    if (explanation->is_compiled) {
        snprintf(number, sizeof number, "%.0f", 100 * explanation->occupancy.fraction);
        snprintf(beside, sizeof beside, "%lld registers, %lld bytes of shared memory",
                 (long long)explanation->registers, (long long)explanation->shared_bytes);
        write_card(out, number, "%", "occupancy", beside);
    }
    fputs("</ul>\n", out);
}

static void write_header(lab_page *out, const lab_kernel_page *page)
{
    const lab_explanation *explanation = page->explanation;
    lab_page_text(out, "lead",
                  "%s, %s, %lld x %lld x %lld, on %s (%s). The requests were counted by an emulator; no GPU ran.",
                  page->file, explanation->dtype, (long long)explanation->m, (long long)explanation->n,
                  (long long)explanation->k, explanation->machine.title, explanation->machine.arch);
    if (*explanation->wrong)
        lab_page_text(out, "warn", "The result is wrong: %s. The counts are those of a small problem.",
                      explanation->wrong);
    if (!explanation->is_counted)
        lab_page_text(out, "warn", "Memory accesses were not counted: %s.",
                      lab_explanation_why_not_counted(explanation));
    if (*page->note)
        lab_page_text(out, "soft", "Note: %s.", page->note);
    write_cards(out->out, explanation);
}

/* ---- Findings ---- */

static void write_finding(FILE *out, const char *kind, int64_t line, const char *text, const char *fix)
{
    char place[32];
    snprintf(place, sizeof place, "%lld", (long long)line);
    lab_html_write(out, "<li><b>%s</b> ", kind);
    if (line > 0)
        lab_html_write(out, "<a href=\"#L%s\">line %s</a>: ", place, place);
    lab_html_write(out, "%s%s%s</li>\n", text, *fix ? " " : "", fix);
}

static bool is_conflict(const lab_finding *finding)
{
    return finding->line > 0 && finding->other_line > 0 &&
           (finding->thread.access != RUNG_EMULATOR_ACCESS_NONE || strcmp(finding->kind, "barrier") == 0);
}

static void write_findings(lab_page *out, const lab_kernel_page *page)
{
    enum { FIGURES_MAX = 6 };
    const lab_explanation *explanation = page->explanation;
    const lab_finding_list *list = &explanation->trace->findings;
    int drawn = 0;
    lab_page_section(out, "findings", "Findings");
    if (explanation->trace->run_count == 0)
        lab_page_text(out, "warn", "The kernel was not checked: no run was possible.");
    else if (list->count + explanation->finding_count == 0)
        lab_page_text(out, "soft",
                      "None: no race, no access outside the matrices, no uncoalesced access and no bank conflict in "
                      "these runs.");
    fputs("<ul class=\"findings\">\n", out->out);
    for (int i = 0; i < list->count; i++)
        write_finding(out->out, list->items[i].kind, list->items[i].line, list->items[i].text,
                      list->items[i].fix && !is_conflict(&list->items[i]) ? list->items[i].fix : "");
    for (int i = 0; i < explanation->finding_count; i++)
        write_finding(out->out, explanation->findings[i].kind, explanation->findings[i].line,
                      explanation->findings[i].text, "");
    fputs("</ul>\n", out->out);
    for (int i = 0; i < list->count && drawn < FIGURES_MAX; i++)
        if (is_conflict(&list->items[i])) {
            lab_page_race_figure(out, page, &list->items[i]);
            drawn++;
        }
}

/* ---- Source and requests ---- */

static const char inspector[] =
    "<div class=\"inspector\" id=\"inspector\" role=\"group\" aria-labelledby=\"i-title\" hidden=\"hidden\">\n"
    "<h3 id=\"i-title\">Line</h3>\n"
    "<p class=\"field\"><label for=\"i-access\">access</label> <select id=\"i-access\"></select></p>\n"
    "<p class=\"field\"><label for=\"i-warp\">warp</label> <input type=\"range\" id=\"i-warp\" min=\"0\" value=\"0\"/> "
    "<output id=\"i-warp-text\" for=\"i-warp\"></output></p>\n"
    "<p class=\"field\"><label for=\"i-step\">step</label> <input type=\"range\" id=\"i-step\" min=\"0\" value=\"0\"/> "
    "<output id=\"i-step-text\" for=\"i-step\"></output></p>\n"
    "<p id=\"i-summary\" aria-live=\"polite\"></p>\n"
    "<div id=\"i-lanes\"></div>\n<div id=\"i-picture\"></div>\n<p class=\"legend soft\" id=\"i-legend\"></p>\n"
    "<p class=\"soft\" id=\"i-left\"></p>\n"
    "<details><summary>The 32 lanes as a table</summary><div class=\"scroll\" role=\"region\" tabindex=\"0\" "
    "aria-label=\"Addresses of the lanes\"><table id=\"i-table\"></table></div></details>\n"
    "<details><summary>The counts of this line</summary><div class=\"scroll\" role=\"region\" tabindex=\"0\" "
    "aria-label=\"Counts of the line\"><table id=\"i-counts\"></table></div></details>\n"
    "</div>\n";

static void write_source(lab_page *out, const lab_kernel_page *page)
{
    const lab_explanation *explanation = page->explanation;
    const int64_t *size = explanation->trace->sizes[0];
    lab_source_part part = lab_source_part_of(page);
    lab_page_section(out, "requests", "Source and memory requests");
    lab_page_text(
        out, "soft",
        "The numbers are those of one block of the problem above. Sectors (of 32 bytes, in global memory) and "
        "wavefronts (of shared memory) are per request; the ideal is in parentheses. Select a line to see its "
        "requests, recorded in a run of %lld x %lld x %lld: arrow keys move between lines and along the sliders.",
        (long long)size[0], (long long)size[1], (long long)size[2]);
    if (part.last - part.first + 1 < part.line_count)
        lab_page_text(out, "soft", "Left out: %lld of the %lld lines of the file, which are far from the kernel.",
                      (long long)(part.line_count - (part.last - part.first + 1)), (long long)part.line_count);
    fputs("<noscript><p class=\"warn\">The view of single requests needs JavaScript.</p></noscript>\n"
          "<div class=\"split\">\n",
          out->out);
    lab_page_source_table(out, page);
    fputs(inspector, out->out);
    fputs("</div>\n", out->out);
}

/* ---- What is left out ---- */

static void write_limits(lab_page *out, const lab_kernel_page *page)
{
    const lab_kernel_trace *trace = page->explanation->trace;
    int64_t recorded = 0, requests = 0;
    for (int64_t i = 0; i < trace->row_count; i++) {
        recorded += trace->rows[i].step_count;
        requests += trace->rows[i].requests;
    }
    lab_page_section(out, "limits", "What this page leaves out");
    lab_page_text(out, "",
                  "The page has %lld of the %lld requests of the run: the first %d of each of the first %d warps, per "
                  "line, array and width. Local memory and constants are not recorded. %s",
                  (long long)recorded, (long long)requests, LAB_TRACE_STEPS, LAB_TRACE_WARPS,
                  trace->findings.dropped > 0 || page->explanation->findings_dropped > 0
                      ? "More findings exist than the page lists."
                      : "");
    lab_page_text(out, "", "The checks ran %d problem%s; a size that was not run may have other findings.",
                  trace->run_count, trace->run_count == 1 ? "" : "s");
}

/* ---- Document ---- */

static void write_script(FILE *out, const char *data)
{
    fputs("<script type=\"application/json\" id=\"data\">\n", out);
    lab_html_write_json(out, data);
    fputs("</script>\n<script>\n//<![CDATA[\n", out);
    fputs(lab_page_script, out);
    fputs("//]]>\n</script>\n", out);
}

static void write_document(lab_page *out, const lab_kernel_page *page)
{
    char title[320];
    snprintf(title, sizeof title, "%s", lab_base_name(page->explanation->kernel)); /* a kernel of a file has its path */
    lab_page_begin(out, title);
    write_header(out, page);
    write_findings(out, page);
    write_source(out, page);
    lab_page_section(out, "speed", "Speed");
    lab_page_kernel_roofline(out, page);
    write_limits(out, page);
    fprintf(out->out, "</%s>\n", out->open_element);
    out->open_element = "div";
    fputs("<div>\n", out->out);
    write_script(out->out, page->data);
    lab_page_end(out);
}

bool lab_kernel_page_save(const lab_kernel_page *page, const char *path, char *why, size_t capacity)
{
    lab_output_file output;
    if (!page->explanation->trace) {
        const char *reason = lab_explanation_why_not_counted(page->explanation);
        return lab_set_reason(why, capacity, "%s was not written: %s", path, *reason ? reason : "out of memory");
    }
    if (!lab_output_open(path, &output))
        return lab_set_reason(why, capacity, "%s cannot be written: %s", path, strerror(errno));
    lab_page out = {.out = output.stream,
                    .version = rung_version_text(),
                    .eyebrow = "rung explain",
                    .style = lab_page_style,
                    .footer = "This file needs no network."};
    write_document(&out, page);
    bool is_written = lab_output_commit(&output);
    if (*out.why || !is_written)
        return lab_set_reason(why, capacity, "%s cannot be written: %s", path, *out.why ? out.why : strerror(errno));
    return true;
}

void lab_kernel_page_print_summary(const lab_kernel_page *page, const char *path)
{
    const lab_explanation *explanation = page->explanation;
    int64_t recorded = 0;
    int found = explanation->trace->findings.count + explanation->finding_count;
    for (int64_t i = 0; i < explanation->trace->row_count; i++)
        recorded += explanation->trace->rows[i].step_count;
    printf("%s: %s, %lld recorded requests, %d finding%s\n", path, lab_base_name(explanation->kernel),
           (long long)recorded, found, found == 1 ? "" : "s");
    if (*explanation->wrong)
        printf("The result is wrong: %s.\n", explanation->wrong);
}
