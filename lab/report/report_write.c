/* SPDX-License-Identifier: Apache-2.0 */
/* report_write.c - writes a report: the summary first, then the charts, then the data behind them. */
#include "report/report.h"

#include <string.h>

enum { CARDS_MAX = 8, OMITTED_MAX = 256 };

/* ---- Summary ---- */

/* Returns the fastest kernel of the main problem; NULL for a group that is too small for a card. */
static const lab_report_row *fastest_kernel(const lab_report_row_group *group)
{
    const lab_report_row *best = NULL;
    for (int i = group->main_start; i < group->main_start + group->main_count && group->count > 2; i++) {
        const lab_report_row *shown = &group->rows[i];
        if (!shown->is_library && (!best || shown->row->gflops > best->row->gflops))
            best = shown;
    }
    return best;
}

static void write_card(lab_report *report, const lab_report_row_group *group, const lab_report_row *best)
{
    FILE *out = report->page.out;
    double peak = lab_report_peak_gflops(report, group, best->row), percent;
    const char *library;
    char text[200];
    lab_html_write(
        out, "<li><b>%s <small>GFLOPS</small></b><span class=\"what\">%s</span><span>%s</span><span>%s</span>",
        lab_short_number(best->row->gflops).text, best->label, group->title, lab_result_problem(best->row).text);
    if (lab_result_best_library(best->row, &library, &percent)) {
        snprintf(text, sizeof text, "%.0f %% of %.60s", percent, library);
        lab_html_write(out, "<span class=\"beside\">%s</span>", text);
    }
    if (peak > 0)
        fprintf(out, "<span class=\"beside\">%.0f %% of the peak</span>", 100 * (best->row->gflops / peak));
    fputs("</li>\n", out);
}

static void write_cards(lab_report *report)
{
    int written = 0;
    for (int i = 0; i < report->group_count && written < CARDS_MAX; i++) {
        const lab_report_row *best = fastest_kernel(&report->groups[i]);
        if (!best)
            continue;
        if (written++ == 0)
            fputs("<ul class=\"cards\">\n", report->page.out);
        write_card(report, &report->groups[i], best);
    }
    if (written > 0)
        fputs("</ul>\n", report->page.out);
}

static void write_files(lab_report *report)
{
    enum { NAMED_MAX = 4 };
    FILE *out = report->page.out;
    fprintf(out, "<p class=\"lead\">%lld row%s of ", (long long)report->row_count, report->row_count == 1 ? "" : "s");
    for (int i = 0; i < report->input_count && report->input_count <= NAMED_MAX; i++)
        lab_html_write(out, "%s%s",
                       i == 0                         ? ""
                       : i == report->input_count - 1 ? " and "
                                                      : ", ",
                       report->inputs[i].name);
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

static void write_link(lab_report *report, bool is_needed, const char *id, const char *text)
{
    if (is_needed)
        lab_html_write(report->page.out, "<li><a href=\"#%s\">%s</a></li>\n", id, text);
}

static void write_contents(lab_report *report, bool has_omitted_rows)
{
    bool has_small_groups = false;
    fputs("<nav aria-label=\"Contents\"><ul>\n", report->page.out);
    for (int i = 0; i < report->group_count; i++) {
        char id[32];
        snprintf(id, sizeof id, "measured-%d", i + 1);
        write_link(report, report->groups[i].count > 2, id, report->groups[i].title);
        has_small_groups = has_small_groups || report->groups[i].count <= 2;
    }
    write_link(report, has_small_groups, "measured-others", "Types and single problems");
    write_link(report, lab_report_has_kind(report, LAB_REPORT_INPUT_TUNE), "tuning", "Tuning");
    write_link(report, lab_report_has_explained_rows(report), "explained-1", "Explained without a GPU");
    write_link(report, lab_report_has_kind(report, LAB_REPORT_INPUT_PEAK), "peaks", "Ceilings");
    write_link(report, has_omitted_rows, "refused", "Rejected rows and warnings");
    write_link(report, true, "machine", "Machine");
    write_link(report, true, "method", "Method");
    write_link(report, true, "fields", "Every field");
    fputs("</ul></nav>\n", report->page.out);
}

/* ---- Rejected rows and warnings ---- */

/* The texts of a row that is not in the charts. Rows with the same texts share a line. */
enum { KERNEL, PARAMETERS, DTYPE, STATE, REASON, FILE_NAME, TEXT_COUNT };

typedef struct omitted_row {
    const char *texts[TEXT_COUNT];
    lab_formatted problem; /* of the first row */
    int count;
} omitted_row_t;

typedef struct omitted_rows {
    omitted_row_t list[OMITTED_MAX];
    int count, left_out;
} omitted_rows_t;

static bool same_texts(const omitted_row_t *a, const omitted_row_t *b)
{
    for (int i = 0; i < TEXT_COUNT; i++)
        if (strcmp(a->texts[i], b->texts[i]) != 0)
            return false;
    return true;
}

static void add_omitted_row(omitted_rows_t *omitted, const lab_report_input *input, const lab_json_value *row,
                            const char *state, const char *reason)
{
    omitted_row_t added = {.texts = {[KERNEL] = lab_json_get_text(row, "kernel", "?"),
                                     [PARAMETERS] = lab_json_get_text(row, "params", ""),
                                     [DTYPE] = lab_json_get_text(row, "dtype", ""),
                                     [STATE] = state,
                                     [REASON] = *reason ? reason : "unknown reason",
                                     [FILE_NAME] = input->name},
                           .problem = lab_json_problem(row),
                           .count = 1};
    for (int i = 0; i < omitted->count; i++)
        if (same_texts(&omitted->list[i], &added)) {
            omitted->list[i].count++;
            return;
        }
    if (omitted->count < OMITTED_MAX)
        omitted->list[omitted->count++] = added;
    else
        omitted->left_out++;
}

static void add_unexplained(omitted_rows_t *omitted, const lab_report_input *input, const lab_json_value *row)
{
    static const struct {
        const char *field, *state;
    } reasons[] = {{"error", "not explained"},
                   {"not_looked_at", "accesses not counted"},
                   {"not_compiled", "not compiled"},
                   {"not_taken_apart", "not disassembled"},
                   {"not_predicted", "not predicted"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (*lab_json_get_text(row, reasons[i].field, "")) { /* the later ones follow from the first */
            add_omitted_row(omitted, input, row, reasons[i].state, lab_json_get_text(row, reasons[i].field, ""));
            return;
        }
}

static void collect_omitted_rows(const lab_report *report, omitted_rows_t *omitted)
{
    for (int i = 0; i < report->input_count; i++) {
        const lab_report_input *input = &report->inputs[i];
        for (const lab_json_value *at = input->rows->first; at; at = at->next) {
            bool has_time = lab_json_get_true(at, "verified") && lab_json_get_integer(at, "median_ns", 0) > 0;
            const char *warning = lab_json_get_text(at, "doubt", ""), *reason = lab_json_get_text(at, "why", "");
            if (input->kind == LAB_REPORT_INPUT_BENCH && !has_time)
                add_omitted_row(omitted, input, at, "refused", lab_json_get_text(at, "why_not", ""));
            else if (input->kind == LAB_REPORT_INPUT_BENCH && *warning)
                add_omitted_row(omitted, input, at, "warning", warning);
            else if (input->kind == LAB_REPORT_INPUT_TUNE && *reason)
                add_omitted_row(omitted, input, at, "not decided", reason);
            else if (input->kind == LAB_REPORT_INPUT_EXPLAIN)
                add_unexplained(omitted, input, at);
        }
    }
}

static void write_omitted_section(lab_report *report, const omitted_rows_t *omitted)
{
    lab_data_table grid;
    if (omitted->count == 0)
        return;
    lab_data_table_begin(&grid, 6, "llllll",
                         (const char *[]){"kernel", "parameters", "problem", "is", "because", "in"});
    for (const omitted_row_t *row = omitted->list; row < omitted->list + omitted->count; row++) {
        lab_data_table_add(&grid, "%s", row->texts[KERNEL]);
        lab_data_table_add(&grid, "%s", *row->texts[PARAMETERS] ? row->texts[PARAMETERS] : "-");
        if (row->count > 1)
            lab_data_table_add(&grid, "%s, %d problems", row->texts[DTYPE], row->count);
        else
            lab_data_table_add(&grid, "%s, %s", row->texts[DTYPE], row->problem.text);
        for (int i = STATE; i < TEXT_COUNT; i++)
            lab_data_table_add(&grid, "%s", row->texts[i]);
    }
    lab_page_section(&report->page, "refused", "Rejected rows and warnings");
    lab_page_text(
        &report->page, "lead",
        "Rejected rows have a wrong result or could not run; they have no time and are in no chart. Rows with a warning have a time, but nothing is compared with them.");
    lab_page_table(&report->page, "Rejected rows and warnings", &grid);
    if (omitted->left_out > 0)
        lab_page_text(&report->page, "soft", "%d more are in the list of fields below.", omitted->left_out);
    lab_data_table_free(&grid);
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
    omitted_rows_t omitted = {.count = 0};
    collect_omitted_rows(report, &omitted);
    lab_page_begin(&report->page, title);
    write_files(report);
    if (report->row_count == 0)
        lab_page_text(&report->page, "warn", "Nothing to show: the files have no results.");
    else if (report->verified_count == 0 && lab_report_has_kind(report, LAB_REPORT_INPUT_BENCH))
        lab_page_text(&report->page, "warn", "No row of rung bench has a time: all were rejected.");
    write_cards(report);
    write_contents(report, omitted.count > 0);
    lab_report_bench_section(report);
    lab_report_tune_section(report);
    lab_report_explain_section(report);
    lab_report_peaks_section(report);
    write_omitted_section(report, &omitted);
    lab_report_machines_section(report);
    write_method(report);
    lab_report_fields_section(report);
    lab_page_end(&report->page);
}
