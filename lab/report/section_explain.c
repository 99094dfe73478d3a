/* SPDX-License-Identifier: Apache-2.0 */
/* section_explain.c - what rung explain counted and predicted, with no GPU: never to be taken for measured. */
#include "report/report.h"

#include "explain/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 256, BARS_MAX = 40 };

/* What one picture shows: the kernels of one machine. */
typedef struct explained {
    const lab_json_value *rows[KERNELS_MAX];
    int count, left_out; /* rows that found no place */
    const char *machine;
    lab_gpu gpu;
    bool is_known; /* the machine is on our list */
} explained_gpu_t;

static bool find_listed_gpu(const char *name, lab_gpu *machine)
{
    for (int i = 0; lab_gpu_at(i, machine); i++)
        if (strcmp(machine->name, name) == 0)
            return true;
    return false;
}

static void write_title(const explained_gpu_t *explained, char *text, size_t capacity)
{
    snprintf(text, capacity, "%.80s", explained->is_known ? explained->gpu.title : explained->machine);
}

/* The predicted GFLOPS of a row, 0 if it has none or if an input was missing: an estimate is not drawn beside
 * predictions. Results of earlier versions do not say "predicted_from", but tell by other fields that the loop is
 * unknown. */
static double predicted_of(const lab_json_value *row)
{
    bool has_loop = lab_json_get_number(row, "math_share", 0) > 0 && !*lab_json_get_text(row, "not_taken_apart", "") &&
                    !*lab_json_get_text(row, "not_compiled", "");
    bool is_estimate = strcmp(lab_json_get_text(row, "predicted_from", "compiled loop"), "compiled loop") != 0;
    return has_loop && !is_estimate ? lab_json_get_number(row, "predicted_gflops", 0) : 0;
}

/* ---- Pictures ---- */

static void label_row(const lab_json_value *row, char *text, size_t capacity)
{
    const char *dtype = lab_json_get_text(row, "dtype", "f32");
    bool plain = strcmp(dtype, "f32") == 0;
    snprintf(text, capacity, "%.70s%s%.30s", lab_json_get_text(row, "kernel", "?"), plain ? "" : " ",
             plain ? "" : dtype);
}

static void draw_predicted(lab_report *report, const explained_gpu_t *explained, const char *title)
{
    int drawn = explained->count < BARS_MAX ? explained->count : BARS_MAX;
    lab_bars bars = {.unit = "GFLOPS, predicted", .list = calloc((size_t)drawn + 1, sizeof(lab_bar))};
    lab_data_table grid;
    char slug[160], heading[200], caption[400], more[100] = "";
    int predicted = 0;
    lab_data_table_begin(&grid, 9, "lllrrrrlr",
                         (const char *[]){"kernel", "type", "m x n x k", "GFLOPS, predicted", "GFLOPS, reported",
                                          "peak", "of peak", "limited by", "math in the loop"});
    for (int i = 0; i < explained->count; i++) {
        const lab_json_value *row = explained->rows[i];
        double gflops = predicted_of(row), peak = lab_json_get_number(row, "peak_gflops", 0);
        char problem[96];
        lab_format_problem(lab_json_get_integer(row, "m", 0), lab_json_get_integer(row, "n", 0),
                           lab_json_get_integer(row, "k", 0), problem, sizeof problem);
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "kernel", "?"));
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "dtype", ""));
        lab_data_table_add(&grid, "%s", problem);
        lab_data_table_add_number(&grid, gflops);
        lab_data_table_add_number(&grid, lab_json_get_number(row, "reported_gflops", 0));
        lab_data_table_add_number(&grid, peak);
        lab_data_table_add(&grid, peak > 0 && gflops > 0 ? "%.0f %%" : "-", peak > 0 ? 100 * (gflops / peak) : 0);
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "bound", ""));
        lab_data_table_add(&grid, "%.0f %%", 100 * lab_json_get_number(row, "math_share", 0));
        predicted += gflops > 0;
        if (!bars.list || bars.count == drawn || !(gflops > 0))
            continue;
        lab_bar *bar = &bars.list[bars.count++];
        bar->value = gflops;
        bar->mark = lab_kernel_marker(lab_json_get_text(row, "kernel", ""));
        label_row(row, bar->label, sizeof bar->label);
    }
    if (bars.count < predicted)
        snprintf(more, sizeof more, " The chart shows %d of %d; the table has all.", bars.count, predicted);
    snprintf(
        caption, sizeof caption,
        "Predicted by a model that adds up the work of each part of a multiprocessor. The model shows what limits a kernel and which of two kernels is faster. Nothing was run on a GPU.%s",
        more);
    snprintf(slug, sizeof slug, "predicted %.60s", explained->machine);
    snprintf(heading, sizeof heading, "What is predicted for a %.120s", title);
    if (bars.count > 0)
        lab_page_figure(&report->page, &(lab_figure){.slug = slug,
                                                     .title = heading,
                                                     .kind = LAB_FIGURE_PREDICTED,
                                                     .caption = caption,
                                                     .description = "Predicted GFLOPS of each kernel.",
                                                     .draw = lab_draw_bars,
                                                     .data = &bars,
                                                     .grid = &grid});
    lab_data_table_free(&grid);
    free(bars.list);
}

static void add_ceiling(lab_roofline *roofline, const char *words, double gflops, double gb_s)
{
    char number[32];
    for (int i = 0; i < roofline->ceiling_count; i++)
        if (roofline->ceilings[i].gflops == gflops && roofline->ceilings[i].gb_s == gb_s)
            return;
    if (roofline->ceiling_count == LAB_CEILINGS_MAX)
        return;
    lab_roofline_ceiling *ceiling = &roofline->ceilings[roofline->ceiling_count++];
    lab_format_short(gflops + gb_s, number, sizeof number);
    snprintf(ceiling->label, sizeof ceiling->label, "%.60s %s %s", words, number, gb_s > 0 ? "GB/s" : "GFLOPS");
    ceiling->gflops = gflops;
    ceiling->gb_s = gb_s;
}

static void add_point(lab_roofline *roofline, lab_data_table *grid, const lab_json_value *row)
{
    double flops = lab_flops(lab_json_get_integer(row, "m", 0), lab_json_get_integer(row, "n", 0),
                             lab_json_get_integer(row, "k", 0));
    double bytes = lab_json_get_number(row, "dram_bytes", 0), gflops = predicted_of(row);
    const char *kernel = lab_json_get_text(row, "kernel", "?");
    char peak[80];
    if (!(bytes > 0) || !(gflops > 0) || !(flops > 0))
        return;
    lab_roofline_point *point = &roofline->list[roofline->count++];
    label_row(row, point->label, sizeof point->label);
    snprintf(point->short_label, sizeof point->short_label, "%.*s",
             (int)strspn(kernel, "0123456789") > 3 ? 3 : (int)strspn(kernel, "0123456789"), kernel);
    point->mark = lab_kernel_marker(kernel);
    point->intensity = flops / bytes;
    point->gflops = gflops;
    snprintf(peak, sizeof peak, "peak %.40s", lab_json_get_text(row, "dtype", ""));
    if (lab_json_get_number(row, "peak_gflops", 0) > 0)
        add_ceiling(roofline, peak, lab_json_get_number(row, "peak_gflops", 0), 0);
    lab_data_table_add(grid, "%s", kernel);
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "dtype", ""));
    lab_data_table_add_number(grid, bytes * 1e-6);
    lab_data_table_add_number(grid, point->intensity);
    lab_data_table_add_number(grid, gflops);
}

static void draw_dram_roofline(lab_report *report, const explained_gpu_t *explained, const char *title)
{
    lab_roofline roofline = {.x_unit = "FLOP per byte of DRAM traffic, counted",
                             .list = calloc((size_t)explained->count, sizeof(lab_roofline_point))};
    lab_data_table grid;
    char slug[160], heading[200];
    lab_data_table_begin(&grid, 5, "llrrr",
                         (const char *[]){"kernel", "type", "DRAM MB, counted", "FLOP per byte", "GFLOPS, predicted"});
    for (int i = 0; i < explained->count && roofline.list; i++)
        add_point(&roofline, &grid, explained->rows[i]);
    if (explained->is_known)
        add_ceiling(&roofline, "DRAM", 0, explained->gpu.dram_gbs);
    snprintf(slug, sizeof slug, "roofline %.60s", explained->machine);
    snprintf(heading, sizeof heading, "Roofline of a %.120s", title);
    if (roofline.count > 0 && roofline.ceiling_count > 0)
        lab_page_figure(
            &report->page,
            &(lab_figure){
                .slug = slug,
                .title = heading,
                .kind = LAB_FIGURE_PREDICTED,
                .caption =
                    "Horizontal: FLOP per byte, counted from the requests of the kernel's warps. Vertical: predicted speed. The lines are the ceilings of the GPU's data sheet. A kernel far below both lines is limited by something else.",
                .description = "Predicted GFLOPS of each kernel over its counted arithmetic "
                               "intensity, below the machine's ceilings.",
                .draw = lab_draw_roofline,
                .data = &roofline,
                .grid = &grid});
    lab_data_table_free(&grid);
    free(roofline.list);
}

/* ---- Tables ---- */

static void add_ratio(lab_data_table *grid, const lab_json_value *row, const char *name)
{
    double value = lab_json_get_number(row, name, 0);
    if (value > 0)
        lab_data_table_add(grid, "%.2f", value);
    else
        lab_data_table_add(grid, "-");
}

static void write_access_table(lab_report *report, const explained_gpu_t *explained)
{
    lab_data_table grid;
    lab_data_table_begin(&grid, 8, "llrrrrrr",
                         (const char *[]){"kernel", "type", "sectors per request", "ideal", "wavefronts per request",
                                          "ideal", "shared loads, as written", "as compiled"});
    for (int i = 0; i < explained->count; i++) {
        const lab_json_value *row = explained->rows[i];
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "kernel", "?"));
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "dtype", ""));
        add_ratio(&grid, row, "sectors_per_request");
        add_ratio(&grid, row, "sectors_ideal");
        add_ratio(&grid, row, "wavefronts_per_request");
        add_ratio(&grid, row, "wavefronts_ideal");
        lab_data_table_add_number(&grid, lab_json_get_number(row, "shared_loads_as_written", 0));
        lab_data_table_add_number(&grid, lab_json_get_number(row, "shared_loads_as_compiled", 0));
    }
    fputs(
        "<figure><figcaption><h3>Coalescing and bank conflicts<span class=\"kind\">counted</span></h3>\n<p>Sectors of 32 bytes per request to global memory, and wavefronts per request to shared memory. Values above the ideal mean uncoalesced accesses or bank conflicts.</p></figcaption>\n",
        report->page.out);
    lab_page_table(&report->page, "Coalescing and bank conflicts, counted", &grid);
    fputs("</figure>\n", report->page.out);
    lab_data_table_free(&grid);
}

static void write_occupancy_table(lab_report *report, const explained_gpu_t *explained)
{
    lab_data_table grid;
    lab_data_table_begin(&grid, 9, "llrrrrrlr",
                         (const char *[]){"kernel", "type", "registers", "shared bytes", "spills", "resident blocks",
                                          "occupancy", "limited by", "waves"});
    for (int i = 0; i < explained->count; i++) {
        const lab_json_value *row = explained->rows[i];
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "kernel", "?"));
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "dtype", ""));
        lab_data_table_add(&grid, "%.0f", lab_json_get_number(row, "registers", 0));
        lab_data_table_add(&grid, "%.0f", lab_json_get_number(row, "shared_bytes", 0));
        lab_data_table_add(&grid, "%.0f", lab_json_get_number(row, "spills", 0));
        lab_data_table_add(&grid, "%.0f", lab_json_get_number(row, "blocks_held", 0));
        lab_data_table_add(&grid, "%.0f %%", 100 * lab_json_get_number(row, "occupancy", 0));
        lab_data_table_add(&grid, "%s", lab_json_get_text(row, "occupancy_bound_by", ""));
        lab_data_table_add_number(&grid, lab_json_get_number(row, "waves", 0));
    }
    fputs(
        "<figure><figcaption><h3>Occupancy<span class=\"kind\">counted</span></h3>\n<p>Registers, shared memory and spills of each compiled kernel, and its occupancy.</p></figcaption>\n",
        report->page.out);
    lab_page_table(&report->page, "Occupancy, counted", &grid);
    fputs("</figure>\n", report->page.out);
    lab_data_table_free(&grid);
}

static void write_findings(lab_report *report, const explained_gpu_t *explained)
{
    lab_data_table grid;
    lab_data_table_begin(&grid, 3, "lrl", (const char *[]){"file", "line", "what was found"});
    for (int i = 0; i < explained->count; i++)
        for (const lab_json_value *at = lab_json_get(explained->rows[i], "findings")->first; at; at = at->next) {
            lab_data_table_add(&grid, "%s", lab_json_get_text(at, "file", ""));
            lab_data_table_add(&grid, "%lld", (long long)lab_json_get_integer(at, "line", 0));
            lab_data_table_add(&grid, "%s", lab_json_get_text(at, "text", ""));
        }
    if (lab_data_table_rows(&grid) > 0) {
        fputs("<figure><figcaption><h3>Findings by line<span class=\"kind\">counted</span></h3></figcaption>\n",
              report->page.out);
        lab_page_table(&report->page, "Findings by line", &grid);
        fputs("</figure>\n", report->page.out);
    }
    lab_data_table_free(&grid);
}

/* ---- All of it ---- */

static void write_prediction_warning(lab_report *report, const explained_gpu_t *explained)
{
    int count = 0;
    for (int i = 0; i < explained->count; i++)
        count += !(predicted_of(explained->rows[i]) > 0);
    if (explained->left_out > 0)
        lab_page_text(&report->page, "warn", "%d more rows are only in the list of fields below.", explained->left_out);
    if (count > 0)
        lab_page_text(&report->page, "warn",
                      "%d of %d kernels %s no complete prediction and %s not ranked: a tool was "
                      "missing, or an input could not be determined. \"rung doctor\" lists the tools.",
                      count, explained->count, count == 1 ? "has" : "have", count == 1 ? "is" : "are");
}

static void write_gpu_section(lab_report *report, const explained_gpu_t *explained, int number)
{
    char title[128], heading[200], id[32];
    write_title(explained, title, sizeof title);
    snprintf(id, sizeof id, "explained-%d", number);
    snprintf(heading, sizeof heading, "Explained for a %.100s", title);
    lab_page_section(&report->page, id, heading);
    lab_page_text(
        &report->page, "lead",
        "Counted from the addresses that the kernels compute and from the compiled code, without a GPU; architecture %.30s.",
        lab_json_get_text(explained->rows[0], "arch", "?"));
    write_prediction_warning(report, explained);
    draw_predicted(report, explained, title);
    draw_dram_roofline(report, explained, title);
    write_access_table(report, explained);
    write_occupancy_table(report, explained);
    write_findings(report, explained);
}

static void add_to_gpu(explained_gpu_t *list, int *count, int most, const lab_json_value *row)
{
    const char *machine = lab_json_get_text(row, "machine", "GPU");
    int i = 0;
    while (i < *count && strcmp(list[i].machine, machine) != 0)
        i++;
    if (i == most) {
        list[most - 1].left_out++; /* a machine too many: its rows are counted with the last one's */
        return;
    }
    if (i == *count) {
        list[i].machine = machine;
        list[i].is_known = find_listed_gpu(machine, &list[i].gpu);
        (*count)++;
    }
    if (list[i].count < KERNELS_MAX)
        list[i].rows[list[i].count++] = row;
    else
        list[i].left_out++;
}

static bool is_explained(const lab_report_input *input, const lab_json_value *row)
{
    return input->kind == LAB_REPORT_INPUT_EXPLAIN ? !*lab_json_get_text(row, "error", "")
                                                   : input->kind == LAB_REPORT_INPUT_BENCH && predicted_of(row) > 0;
}

bool lab_report_has_explained_rows(const lab_report *report)
{
    for (int i = 0; i < report->input_count; i++)
        for (const lab_json_value *at = report->inputs[i].rows->first; at; at = at->next)
            if (is_explained(&report->inputs[i], at))
                return true;
    return false;
}

void lab_report_explain_section(lab_report *report)
{
    enum { MACHINES_MAX = 16 };
    explained_gpu_t *list = calloc(MACHINES_MAX, sizeof *list);
    int count = 0;
    for (int i = 0; i < report->input_count && list; i++)
        for (const lab_json_value *at = report->inputs[i].rows->first; at; at = at->next)
            if (is_explained(&report->inputs[i], at))
                add_to_gpu(list, &count, MACHINES_MAX, at);
    for (int i = 0; i < count; i++)
        write_gpu_section(report, &list[i], i + 1);
    free(list);
}
