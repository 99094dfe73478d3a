/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.c - the order of a report: what it comes to first, then the pictures, then what they stand on. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { CARDS_MAX = 8, REFUSALS_MAX = 256 };

/* ---- In short --------------------------------------------------------------------------------------- */

static const lab_shown *fastest(const lab_group *group)
{
    const lab_shown *best = NULL;
    for (int i = group->main_from; i < group->main_from + group->main_count; i++) {
        const lab_shown *shown = &group->rows[i];
        if (!shown->is_library && (!best || shown->row->gflops > best->row->gflops))
            best = shown;
    }
    return best;
}

static void write_card(lab_report *report, const lab_group *group)
{
    FILE *out = report->page.out;
    const lab_shown *best = fastest(group);
    double peak = best ? lab_peak_of(report, group, best->row) : 0;
    const char *library;
    double percent;
    char number[32], text[200];
    if (!best)
        return;
    lab_write_short(best->row->gflops, number, sizeof number);
    fprintf(out, "<li><b>%s <small>GFLOPS</small></b><span class=\"what\">", number);
    lab_escape(out, best->label);
    fputs("</span><span>", out);
    lab_escape(out, group->title);
    lab_write_problem(best->row->m, best->row->n, best->row->k, text, sizeof text);
    fprintf(out, "</span><span>%s</span>", text);
    if (lab_beside(best->row, &library, &percent)) {
        snprintf(text, sizeof text, "%.0f %% of %.60s", percent, library);
        fputs("<span class=\"beside\">", out);
        lab_escape(out, text);
        fputs("</span>", out);
    }
    if (peak > 0)
        fprintf(out, "<span class=\"beside\">%.0f %% of the peak</span>", 100 * (best->row->gflops / peak));
    fputs("</li>\n", out);
}

static void write_cards(lab_report *report)
{
    int count = 0;
    for (int i = 0; i < report->group_count; i++)
        count += report->groups[i].count > 2 && fastest(&report->groups[i]);
    if (count == 0)
        return;
    fputs("<ul class=\"cards\">\n", report->page.out);
    for (int i = 0, written = 0; i < report->group_count && written < CARDS_MAX; i++)
        if (report->groups[i].count > 2 && fastest(&report->groups[i])) {
            write_card(report, &report->groups[i]);
            written++;
        }
    fputs("</ul>\n", report->page.out);
}

/* ---- Before all ------------------------------------------------------------------------------------- */

static void write_files(lab_report *report)
{
    enum { NAMED_MAX = 4 };
    FILE *out = report->page.out;
    fprintf(out, "<p class=\"lead\">%lld row%s of ", (long long)report->row_count, report->row_count == 1 ? "" : "s");
    for (int i = 0; i < report->input_count && report->input_count <= NAMED_MAX; i++) {
        fputs(i == 0 ? "" : i == report->input_count - 1 ? " and " : ", ", out);
        lab_escape(out, report->inputs[i].name);
    }
    if (report->input_count > NAMED_MAX)
        fprintf(out, "<a href=\"#machine\">%d files</a>", report->input_count);
    fputs(".</p>\n", out);
    for (int i = 0; i < report->input_count; i++) {
        const lab_value *complete = lab_field(report->inputs[i].root, "complete");
        if (complete->kind == LAB_BOOLEAN && complete->number == 0)
            lab_page_text(&report->page, "warn",
                          "%.200s is not complete: what wrote it was interrupted. What it had by then is drawn.",
                          report->inputs[i].name);
    }
}

static void write_link(lab_report *report, const char *id, const char *words)
{
    fprintf(report->page.out, "<li><a href=\"#%s\">", id);
    lab_escape(report->page.out, words);
    fputs("</a></li>\n", report->page.out);
}

static bool has_small(const lab_report *report)
{
    for (int i = 0; i < report->group_count; i++)
        if (report->groups[i].count <= 2)
            return true;
    return false;
}

static bool has_refused(const lab_report *report);

static void write_contents(lab_report *report)
{
    fputs("<nav aria-label=\"Contents\"><ul>\n", report->page.out);
    for (int i = 0; i < report->group_count; i++) {
        char id[32];
        snprintf(id, sizeof id, "measured-%d", i + 1);
        if (report->groups[i].count > 2)
            write_link(report, id, report->groups[i].title);
    }
    if (has_small(report))
        write_link(report, "measured-others", "Types and single problems");
    if (lab_has_kind(report, LAB_INPUT_TUNE))
        write_link(report, "tuning", "Tuning");
    if (lab_has_explained(report))
        write_link(report, "explained-1", "Explained, with no GPU");
    if (lab_has_kind(report, LAB_INPUT_PEAK))
        write_link(report, "peaks", "Ceilings");
    if (has_refused(report))
        write_link(report, "refused", "Refused, and in doubt");
    write_link(report, "machine", "Machine");
    write_link(report, "method", "Method");
    write_link(report, "fields", "Every field");
    fputs("</ul></nav>\n", report->page.out);
}

/* ---- What is not in the pictures -------------------------------------------------------------------- */

/* What was refused for one reason is one line, however many problems it was refused for. */
typedef struct refusal {
    const char *kernel, *params, *dtype, *what, *why, *file;
    char problem[96];
    int count;
} refusal_t;

typedef struct refusals {
    refusal_t list[REFUSALS_MAX];
    int count, left_out;
} refusals_t;

static void add_refused(refusals_t *refusals, const lab_input *input, const lab_value *row, const char *what,
                        const char *why)
{
    refusal_t one = {.kernel = lab_text(row, "kernel", "?"),
                     .params = lab_text(row, "params", ""),
                     .dtype = lab_text(row, "dtype", ""),
                     .what = what,
                     .why = *why ? why : "no reason was given",
                     .file = input->name,
                     .count = 1};
    lab_write_problem(lab_integer(row, "m", 0), lab_integer(row, "n", 0), lab_integer(row, "k", 0), one.problem,
                      sizeof one.problem);
    for (int i = 0; i < refusals->count; i++) {
        refusal_t *other = &refusals->list[i];
        if (strcmp(other->kernel, one.kernel) == 0 && strcmp(other->params, one.params) == 0 &&
            strcmp(other->dtype, one.dtype) == 0 && strcmp(other->what, what) == 0 &&
            strcmp(other->why, one.why) == 0 && strcmp(other->file, one.file) == 0) {
            other->count++;
            return;
        }
    }
    if (refusals->count < REFUSALS_MAX)
        refusals->list[refusals->count++] = one;
    else
        refusals->left_out++;
}

static void add_unexplained(refusals_t *refusals, const lab_input *input, const lab_value *row)
{
    static const struct {
        const char *field, *words;
    } reasons[] = {{"error", "not explained"},
                   {"not_looked_at", "not looked at"},
                   {"not_compiled", "not compiled"},
                   {"not_taken_apart", "not taken apart"},
                   {"not_predicted", "not predicted"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (*lab_text(row, reasons[i].field, "")) { /* the later ones follow from the first */
            add_refused(refusals, input, row, reasons[i].words, lab_text(row, reasons[i].field, ""));
            return;
        }
}

static void gather_refused(const lab_report *report, refusals_t *refusals)
{
    for (int i = 0; i < report->input_count; i++) {
        const lab_input *input = &report->inputs[i];
        for (const lab_value *at = input->rows->first; at; at = at->next) {
            bool has_time = lab_is_true(at, "verified") && lab_integer(at, "median_ns", 0) > 0;
            if (input->kind == LAB_INPUT_BENCH && !has_time)
                add_refused(refusals, input, at, "refused", lab_text(at, "why_not", ""));
            if (input->kind == LAB_INPUT_BENCH && has_time && *lab_text(at, "doubt", ""))
                add_refused(refusals, input, at, "in doubt", lab_text(at, "doubt", ""));
            if (input->kind == LAB_INPUT_TUNE && *lab_text(at, "why", ""))
                add_refused(refusals, input, at, "not decided", lab_text(at, "why", ""));
            if (input->kind == LAB_INPUT_EXPLAIN)
                add_unexplained(refusals, input, at);
        }
    }
}

static bool has_refused(const lab_report *report)
{
    refusals_t *refusals = calloc(1, sizeof *refusals);
    if (refusals)
        gather_refused(report, refusals);
    bool any = refusals && refusals->count > 0;
    free(refusals);
    return any;
}

static void tabulate_refused(const refusals_t *refusals, lab_grid *grid)
{
    lab_grid_begin(grid, 6, "llllll", (const char *[]){"kernel", "parameters", "problem", "is", "because", "in"});
    for (int i = 0; i < refusals->count; i++) {
        const refusal_t *one = &refusals->list[i];
        lab_grid_add(grid, "%s", one->kernel);
        lab_grid_add(grid, "%s", *one->params ? one->params : "-");
        if (one->count > 1)
            lab_grid_add(grid, "%s, %d problems", one->dtype, one->count);
        else
            lab_grid_add(grid, "%s, %s", one->dtype, one->problem);
        lab_grid_add(grid, "%s", one->what);
        lab_grid_add(grid, "%s", one->why);
        lab_grid_add(grid, "%s", one->file);
    }
}

static void write_refused(lab_report *report)
{
    refusals_t *refusals = calloc(1, sizeof *refusals);
    lab_grid grid = {0};
    if (refusals)
        gather_refused(report, refusals);
    if (refusals && refusals->count > 0) {
        tabulate_refused(refusals, &grid);
        lab_page_section(&report->page, "refused", "Refused, and in doubt");
        lab_page_text(&report->page, "lead",
                      "What was refused was wrong or could not run, has no time and is in no picture. What is in "
                      "doubt has a time, and nothing is compared with it.");
        lab_page_table(&report->page, "Refused, and in doubt", &grid);
        if (refusals->left_out > 0)
            lab_page_text(&report->page, "soft", "%d more stand in the fields below.", refusals->left_out);
    }
    lab_grid_free(&grid);
    free(refusals);
}

static void write_method(lab_report *report)
{
    static const struct {
        const char *word, *meaning;
    } words[] = {
        {LAB_MEASURED, "Run on this machine. Each contender is verified exactly before it is timed; a time of a "
                       "wrong result is never told. Contenders take turns, a sample each, so that what disturbs the "
                       "machine disturbs them alike. A number is the median of its samples, with the 95 % interval "
                       "of the median; sampling stops when that is within 1 % or the time for it is spent."},
        {"measured peak", "A loop of nothing but the instructions that the product is made of, run before and after "
                          "each sample."},
        {LAB_COUNTED, "From the addresses that a kernel's warps compute in a simulator, and from what NVIDIA's "
                      "compiler made of it. No GPU is needed, and no time is involved."},
        {LAB_PREDICTED, "A model's word on a GPU that is described as data. Nothing was run."},
        {LAB_REPORTED, "Somebody else's measurement, from a document."},
        {"GFLOPS", "2 m n k operations over the median time, in billions a second; of whole numbers too."},
        {"flops a byte", "Measured: those of A, B and C, each moved once, the least there can be. Explained: those "
                         "that were counted to pass DRAM."},
    };
    lab_page_section(&report->page, "method", "Method, in short");
    fputs("<dl>\n", report->page.out);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        fprintf(report->page.out, "<dt>%s</dt><dd>%s</dd>\n", words[i].word, words[i].meaning);
    fputs("</dl>\n", report->page.out);
    lab_page_text(&report->page, "soft",
                  "In full: docs/benchmarking.md (how times are taken), docs/explain.md (what is counted and "
                  "predicted), docs/tuning.md (how rung tune decides), docs/report.md (how to read this page).");
}

void lab_report_write(lab_report *report, const char *title)
{
    lab_page_begin(&report->page, title);
    write_files(report);
    if (report->row_count == 0)
        lab_page_text(&report->page, "warn", "There is nothing to draw: the files hold no results.");
    else if (report->verified_count == 0 && lab_has_kind(report, LAB_INPUT_BENCH))
        lab_page_text(&report->page, "warn", "No row of rung bench has a time: all were refused.");
    write_cards(report);
    write_contents(report);
    lab_report_bench(report);
    lab_report_tune(report);
    lab_report_explain(report);
    lab_report_peaks(report);
    write_refused(report);
    lab_report_machines(report);
    write_method(report);
    lab_report_fields(report);
    lab_page_end(&report->page);
}
