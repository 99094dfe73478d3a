/* SPDX-License-Identifier: Apache-2.0 */
/* report_write.c - writes a report: the summary first, then the pictures, then the data behind them. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

enum { CARDS_MAX = 8, REFUSALS_MAX = 256 };

/* ---- In short ---- */

static const lab_report_row *fastest_kernel(const lab_report_row_group *group)
{
    const lab_report_row *best = NULL;
    for (int i = group->main_start; i < group->main_start + group->main_count; i++) {
        const lab_report_row *shown = &group->rows[i];
        if (!shown->is_library && (!best || shown->row->gflops > best->row->gflops))
            best = shown;
    }
    return best;
}

static void write_card(lab_report *report, const lab_report_row_group *group)
{
    FILE *out = report->page.out;
    const lab_report_row *best = fastest_kernel(group);
    double peak = best ? lab_report_peak_gflops(report, group, best->row) : 0;
    const char *library;
    double percent;
    char number[32], text[200];
    if (!best)
        return;
    lab_format_short(best->row->gflops, number, sizeof number);
    fprintf(out, "<li><b>%s <small>GFLOPS</small></b><span class=\"what\">", number);
    lab_html_escape(out, best->label);
    fputs("</span><span>", out);
    lab_html_escape(out, group->title);
    lab_format_problem(best->row->m, best->row->n, best->row->k, text, sizeof text);
    fprintf(out, "</span><span>%s</span>", text);
    if (lab_result_best_library(best->row, &library, &percent)) {
        snprintf(text, sizeof text, "%.0f %% of %.60s", percent, library);
        fputs("<span class=\"beside\">", out);
        lab_html_escape(out, text);
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
        count += report->groups[i].count > 2 && fastest_kernel(&report->groups[i]);
    if (count == 0)
        return;
    fputs("<ul class=\"cards\">\n", report->page.out);
    for (int i = 0, written = 0; i < report->group_count && written < CARDS_MAX; i++)
        if (report->groups[i].count > 2 && fastest_kernel(&report->groups[i])) {
            write_card(report, &report->groups[i]);
            written++;
        }
    fputs("</ul>\n", report->page.out);
}

/* ---- Before all ---- */

static void write_files(lab_report *report)
{
    enum { NAMED_MAX = 4 };
    FILE *out = report->page.out;
    fprintf(out, "<p class=\"lead\">%lld row%s of ", (long long)report->row_count, report->row_count == 1 ? "" : "s");
    for (int i = 0; i < report->input_count && report->input_count <= NAMED_MAX; i++) {
        fputs(i == 0 ? "" : i == report->input_count - 1 ? " and " : ", ", out);
        lab_html_escape(out, report->inputs[i].name);
    }
    if (report->input_count > NAMED_MAX)
        fprintf(out, "<a href=\"#machine\">%d files</a>", report->input_count);
    fputs(".</p>\n", out);
    for (int i = 0; i < report->input_count; i++) {
        const lab_json_value *complete = lab_json_get(report->inputs[i].root, "complete");
        if (complete->kind == LAB_JSON_BOOLEAN && complete->number == 0)
            lab_page_text(&report->page, "warn",
                          "%.200s is incomplete: its command was interrupted. The page shows the rows measured so far.",
                          report->inputs[i].name);
    }
}

static void write_link(lab_report *report, const char *id, const char *words)
{
    fprintf(report->page.out, "<li><a href=\"#%s\">", id);
    lab_html_escape(report->page.out, words);
    fputs("</a></li>\n", report->page.out);
}

static bool has_small_groups(const lab_report *report)
{
    for (int i = 0; i < report->group_count; i++)
        if (report->groups[i].count <= 2)
            return true;
    return false;
}

static bool has_omitted_rows(const lab_report *report);

static void write_contents(lab_report *report)
{
    fputs("<nav aria-label=\"Contents\"><ul>\n", report->page.out);
    for (int i = 0; i < report->group_count; i++) {
        char id[32];
        snprintf(id, sizeof id, "measured-%d", i + 1);
        if (report->groups[i].count > 2)
            write_link(report, id, report->groups[i].title);
    }
    if (has_small_groups(report))
        write_link(report, "measured-others", "Types and single problems");
    if (lab_report_has_kind(report, LAB_REPORT_INPUT_TUNE))
        write_link(report, "tuning", "Tuning");
    if (lab_report_has_explained_rows(report))
        write_link(report, "explained-1", "Explained without a GPU");
    if (lab_report_has_kind(report, LAB_REPORT_INPUT_PEAK))
        write_link(report, "peaks", "Ceilings");
    if (has_omitted_rows(report))
        write_link(report, "refused", "Rejected rows and warnings");
    write_link(report, "machine", "Machine");
    write_link(report, "method", "Method");
    write_link(report, "fields", "Every field");
    fputs("</ul></nav>\n", report->page.out);
}

/* ---- What is not in the pictures ---- */

/* What was refused for one reason is one line, however many problems it was refused for. */
typedef struct refusal {
    const char *kernel, *params, *dtype, *what, *why, *file;
    char problem[96];
    int count;
} omitted_row_t;

typedef struct refusals {
    omitted_row_t list[REFUSALS_MAX];
    int count, left_out;
} omitted_rows_t;

static void add_omitted_row(omitted_rows_t *refusals, const lab_report_input *input, const lab_json_value *row,
                            const char *what, const char *why)
{
    omitted_row_t one = {.kernel = lab_json_get_text(row, "kernel", "?"),
                         .params = lab_json_get_text(row, "params", ""),
                         .dtype = lab_json_get_text(row, "dtype", ""),
                         .what = what,
                         .why = *why ? why : "unknown reason",
                         .file = input->name,
                         .count = 1};
    lab_format_problem(lab_json_get_integer(row, "m", 0), lab_json_get_integer(row, "n", 0),
                       lab_json_get_integer(row, "k", 0), one.problem, sizeof one.problem);
    for (int i = 0; i < refusals->count; i++) {
        omitted_row_t *other = &refusals->list[i];
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

static void add_unexplained(omitted_rows_t *refusals, const lab_report_input *input, const lab_json_value *row)
{
    static const struct {
        const char *field, *words;
    } reasons[] = {{"error", "not explained"},
                   {"not_looked_at", "accesses not counted"},
                   {"not_compiled", "not compiled"},
                   {"not_taken_apart", "not disassembled"},
                   {"not_predicted", "not predicted"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (*lab_json_get_text(row, reasons[i].field, "")) { /* the later ones follow from the first */
            add_omitted_row(refusals, input, row, reasons[i].words, lab_json_get_text(row, reasons[i].field, ""));
            return;
        }
}

static void collect_omitted_rows(const lab_report *report, omitted_rows_t *refusals)
{
    for (int i = 0; i < report->input_count; i++) {
        const lab_report_input *input = &report->inputs[i];
        for (const lab_json_value *at = input->rows->first; at; at = at->next) {
            bool has_time = lab_json_get_true(at, "verified") && lab_json_get_integer(at, "median_ns", 0) > 0;
            if (input->kind == LAB_REPORT_INPUT_BENCH && !has_time)
                add_omitted_row(refusals, input, at, "refused", lab_json_get_text(at, "why_not", ""));
            if (input->kind == LAB_REPORT_INPUT_BENCH && has_time && *lab_json_get_text(at, "doubt", ""))
                add_omitted_row(refusals, input, at, "warning", lab_json_get_text(at, "doubt", ""));
            if (input->kind == LAB_REPORT_INPUT_TUNE && *lab_json_get_text(at, "why", ""))
                add_omitted_row(refusals, input, at, "not decided", lab_json_get_text(at, "why", ""));
            if (input->kind == LAB_REPORT_INPUT_EXPLAIN)
                add_unexplained(refusals, input, at);
        }
    }
}

static bool has_omitted_rows(const lab_report *report)
{
    omitted_rows_t *refusals = calloc(1, sizeof *refusals);
    if (refusals)
        collect_omitted_rows(report, refusals);
    bool any = refusals && refusals->count > 0;
    free(refusals);
    return any;
}

static void tabulate_omitted_rows(const omitted_rows_t *refusals, lab_data_table *grid)
{
    lab_data_table_begin(grid, 6, "llllll", (const char *[]){"kernel", "parameters", "problem", "is", "because", "in"});
    for (int i = 0; i < refusals->count; i++) {
        const omitted_row_t *one = &refusals->list[i];
        lab_data_table_add(grid, "%s", one->kernel);
        lab_data_table_add(grid, "%s", *one->params ? one->params : "-");
        if (one->count > 1)
            lab_data_table_add(grid, "%s, %d problems", one->dtype, one->count);
        else
            lab_data_table_add(grid, "%s, %s", one->dtype, one->problem);
        lab_data_table_add(grid, "%s", one->what);
        lab_data_table_add(grid, "%s", one->why);
        lab_data_table_add(grid, "%s", one->file);
    }
}

static void write_omitted_section(lab_report *report)
{
    omitted_rows_t *refusals = calloc(1, sizeof *refusals);
    lab_data_table grid = {0};
    if (refusals)
        collect_omitted_rows(report, refusals);
    if (refusals && refusals->count > 0) {
        tabulate_omitted_rows(refusals, &grid);
        lab_page_section(&report->page, "refused", "Rejected rows and warnings");
        lab_page_text(
            &report->page, "lead",
            "Rejected rows have a wrong result or could not run; they have no time and are in no chart. Rows with a warning have a time, but nothing is compared with them.");
        lab_page_table(&report->page, "Rejected rows and warnings", &grid);
        if (refusals->left_out > 0)
            lab_page_text(&report->page, "soft", "%d more are in the list of fields below.", refusals->left_out);
    }
    lab_data_table_free(&grid);
    free(refusals);
}

static void write_method(lab_report *report)
{
    static const struct {
        const char *word, *meaning;
    } words[] = {
        {LAB_FIGURE_MEASURED,
         "Run on this machine. Each kernel is verified exactly before it is timed; wrong results have no time. Samples of all kernels are interleaved, so that disturbances affect all of them. A number is the median of its samples, with its 95 % interval. Sampling stops when the interval is within 1 % or the time limit is reached."},
        {"measured peak",
         "A loop of only the multiply-add instructions of the kernel, run before and after each sample."},
        {LAB_FIGURE_COUNTED,
         "From the addresses that a kernel's warps compute in a simulator, and from the code of NVIDIA's compiler. Needs no GPU and measures no time."},
        {LAB_FIGURE_PREDICTED, "Computed by a model from the description of a GPU. Nothing was run."},
        {LAB_FIGURE_REPORTED, "Measured by others and taken from a document."},
        {"GFLOPS", "2 m n k operations divided by the median time, in billions per second, also for integers."},
        {"FLOP per byte",
         "Measured: with A, B and C moved once, which is the minimum. Explained: with the counted DRAM traffic."},
    };
    lab_page_section(&report->page, "method", "Method, in short");
    fputs("<dl>\n", report->page.out);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        fprintf(report->page.out, "<dt>%s</dt><dd>%s</dd>\n", words[i].word, words[i].meaning);
    fputs("</dl>\n", report->page.out);
    lab_page_text(
        &report->page, "soft",
        "Details: docs/guides/benchmarking.md (timing), docs/guides/explain.md (counts and predictions), docs/guides/tuning.md (how rung tune decides), docs/guides/reports.md (how to read this page).");
}

void lab_report_write(lab_report *report, const char *title)
{
    lab_page_begin(&report->page, title);
    write_files(report);
    if (report->row_count == 0)
        lab_page_text(&report->page, "warn", "Nothing to show: the files have no results.");
    else if (report->verified_count == 0 && lab_report_has_kind(report, LAB_REPORT_INPUT_BENCH))
        lab_page_text(&report->page, "warn", "No row of rung bench has a time: all were rejected.");
    write_cards(report);
    write_contents(report);
    lab_report_bench_section(report);
    lab_report_tune_section(report);
    lab_report_explain_section(report);
    lab_report_peaks_section(report);
    write_omitted_section(report);
    lab_report_machines_section(report);
    write_method(report);
    lab_report_fields_section(report);
    lab_page_end(&report->page);
}
