/* SPDX-License-Identifier: Apache-2.0 */
/* section_explain.c - the counts and predictions of rung explain, which need no GPU and are not measurements. */
#include "report/report.h"

#include "explain/explain.h"

#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 256 };

/* The explained kernels of one GPU. */
typedef struct explained_gpu {
    const lab_json_value *rows[KERNELS_MAX];
    int count, left_out; /* left_out: rows beyond KERNELS_MAX */
    const char *machine, *title;
    lab_gpu gpu;
    bool is_known; /* the GPU is in gpus.def */
} explained_gpu_t;

/* Returns the predicted GFLOPS of a row; 0 if there is no prediction or an input was missing, because estimates are not
 * drawn beside predictions. Results of earlier versions have no "predicted_from"; other fields show that the loop is
 * unknown. */
static double predicted_of(const lab_json_value *row)
{
    bool has_loop = lab_json_get_number(row, "math_share", 0) > 0 && !*lab_json_get_text(row, "not_taken_apart", "") &&
                    !*lab_json_get_text(row, "not_compiled", "");
    bool is_estimate = strcmp(lab_json_get_text(row, "predicted_from", "compiled loop"), "compiled loop") != 0;
    return has_loop && !is_estimate ? lab_json_get_number(row, "predicted_gflops", 0) : 0;
}

/* ---- Charts ---- */

static void label_row(const lab_json_value *row, char *text, size_t capacity)
{
    const char *dtype = lab_json_get_text(row, "dtype", "f32");
    bool plain = strcmp(dtype, "f32") == 0;
    snprintf(text, capacity, "%.70s%s%.30s", lab_json_get_text(row, "kernel", "?"), plain ? "" : " ",
             plain ? "" : dtype);
}

static void add_predicted_row(const lab_json_value *row, double gflops, lab_data_table *grid)
{
    double peak = lab_json_get_number(row, "peak_gflops", 0);
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "kernel", "?"));
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "dtype", ""));
    lab_data_table_add(grid, "%s", lab_json_problem(row).text);
    lab_data_table_add_number(grid, gflops);
    lab_data_table_add_number(grid, lab_json_get_number(row, "reported_gflops", 0));
    lab_data_table_add_number(grid, peak);
    lab_data_table_add(grid, peak > 0 && gflops > 0 ? "%.0f %%" : "-", 100 * (gflops / peak));
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "bound", ""));
    lab_data_table_add(grid, "%.0f %%", 100 * lab_json_get_number(row, "math_share", 0));
}

static void draw_predicted(lab_report *report, const explained_gpu_t *explained)
{
    lab_bars bars = {.unit = "GFLOPS, predicted"};
    lab_data_table grid;
    char slug[160], heading[200], caption[400];
    int predicted = 0;
    lab_data_table_begin(&grid, 9, "lllrrrrlr",
                         (const char *[]){"kernel", "type", "m x n x k", "GFLOPS, predicted", "GFLOPS, reported",
                                          "peak", "of peak", "limited by", "math in the loop"});
    for (int i = 0; i < explained->count; i++) {
        const lab_json_value *row = explained->rows[i];
        double gflops = predicted_of(row);
        add_predicted_row(row, gflops, &grid);
        predicted += gflops > 0;
        if (bars.count == LAB_BARS_MAX || !(gflops > 0))
            continue;
        lab_bar *bar = &bars.list[bars.count++];
        bar->value = gflops;
        bar->mark = lab_kernel_marker(lab_json_get_text(row, "kernel", ""));
        label_row(row, bar->label, sizeof bar->label);
    }
    snprintf(
        caption, sizeof caption,
        "Predicted by a model that adds up the work of each part of a multiprocessor. The model shows what limits a kernel and which of two kernels is faster. Nothing was run on a GPU.%s",
        lab_omission_note(bars.count, predicted).text);
    snprintf(slug, sizeof slug, "predicted %.60s", explained->machine);
    snprintf(heading, sizeof heading, "What is predicted for a %.80s", explained->title);
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
}

static void add_peak(lab_roofline *roofline, const lab_json_value *row)
{
    double gflops = lab_json_get_number(row, "peak_gflops", 0);
    char name[80];
    for (int i = 0; i < roofline->ceiling_count; i++)
        if (roofline->ceilings[i].gflops == gflops)
            return;
    snprintf(name, sizeof name, "peak %.40s", lab_json_get_text(row, "dtype", ""));
    if (gflops > 0)
        lab_roofline_add_ceiling(roofline, name, gflops, 0);
}

static void add_point(lab_roofline *roofline, lab_data_table *grid, const lab_json_value *row)
{
    double flops = lab_json_flops(row), bytes = lab_json_get_number(row, "dram_bytes", 0), gflops = predicted_of(row);
    const char *kernel = lab_json_get_text(row, "kernel", "?");
    int digits = (int)strspn(kernel, "0123456789");
    if (!(bytes > 0) || !(gflops > 0) || !(flops > 0))
        return;
    lab_roofline_point *point = &roofline->list[roofline->count++];
    *point = (lab_roofline_point){.mark = lab_kernel_marker(kernel), .intensity = flops / bytes, .gflops = gflops};
    label_row(row, point->label, sizeof point->label);
    snprintf(point->short_label, sizeof point->short_label, "%.*s", digits > 3 ? 3 : digits, kernel);
    add_peak(roofline, row);
    lab_data_table_add(grid, "%s", kernel);
    lab_data_table_add(grid, "%s", lab_json_get_text(row, "dtype", ""));
    lab_data_table_add_number(grid, bytes * 1e-6);
    lab_data_table_add_number(grid, point->intensity);
    lab_data_table_add_number(grid, gflops);
}

static void draw_dram_roofline(lab_report *report, const explained_gpu_t *explained)
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
        lab_roofline_add_ceiling(&roofline, "DRAM", 0, explained->gpu.dram_gbs);
    snprintf(slug, sizeof slug, "roofline %.60s", explained->machine);
    snprintf(heading, sizeof heading, "Roofline of a %.80s", explained->title);
    if (roofline.count > 0 && roofline.ceiling_count > 0)
        lab_page_figure(
            &report->page,
            &(lab_figure){
                .slug = slug,
                .title = heading,
                .kind = LAB_FIGURE_PREDICTED,
                .caption =
                    "Horizontal: FLOP per byte, counted from the requests of the kernel's warps. Vertical: predicted speed. The lines are the ceilings of the GPU's data sheet. A kernel far below both lines is limited by something else.",
                .description =
                    "Predicted GFLOPS of each kernel over its counted arithmetic intensity, below the machine's ceilings.",
                .draw = lab_draw_roofline,
                .data = &roofline,
                .grid = &grid});
    lab_data_table_free(&grid);
    free(roofline.list);
}

/* ---- Tables ---- */

/* A column of a table of counted values: its title, and the field with its format. */
typedef struct counted_column {
    const char *title, *field;
    enum { TEXT, NUMBER, RATIO, COUNT, PERCENT } format; /* COUNT and PERCENT show 0, the other numbers "-" */
} counted_column_t;

static void add_counted_cell(lab_data_table *grid, const lab_json_value *row, const counted_column_t *column)
{
    double value = lab_json_get_number(row, column->field, 0);
    switch (column->format) {
    case TEXT: lab_data_table_add(grid, "%s", lab_json_get_text(row, column->field, "")); return;
    case NUMBER: lab_data_table_add_number(grid, value); return;
    case RATIO: lab_data_table_add(grid, value > 0 ? "%.2f" : "-", value); return;
    case COUNT: lab_data_table_add(grid, "%.0f", value); return;
    case PERCENT: lab_data_table_add(grid, "%.0f %%", 100 * value); return;
    }
}

/* Writes a figure with a table whose first two columns are kernel and type. */
static void write_counted_table(lab_report *report, const explained_gpu_t *explained, const char *title,
                                const char *caption, const counted_column_t *columns, int count)
{
    enum { COLUMNS_MAX = 16 };
    const char *heads[COLUMNS_MAX] = {"kernel", "type"};
    char align[COLUMNS_MAX + 1] = "ll", summary[80];
    lab_data_table grid;
    for (int i = 0; i < count; i++) {
        heads[i + 2] = columns[i].title;
        align[i + 2] = columns[i].format == TEXT ? 'l' : 'r';
    }
    lab_data_table_begin(&grid, count + 2, align, heads);
    for (int i = 0; i < explained->count; i++) {
        lab_data_table_add(&grid, "%s", lab_json_get_text(explained->rows[i], "kernel", "?"));
        lab_data_table_add(&grid, "%s", lab_json_get_text(explained->rows[i], "dtype", ""));
        for (int j = 0; j < count; j++)
            add_counted_cell(&grid, explained->rows[i], &columns[j]);
    }
    lab_html_write(report->page.out,
                   "<figure><figcaption><h3>%s<span class=\"kind\">counted</span></h3>\n<p>%s</p></figcaption>\n",
                   title, caption);
    snprintf(summary, sizeof summary, "%s, counted", title);
    lab_page_table(&report->page, summary, &grid);
    fputs("</figure>\n", report->page.out);
    lab_data_table_free(&grid);
}

static void write_access_table(lab_report *report, const explained_gpu_t *explained)
{
    static const counted_column_t columns[] = {{"sectors per request", "sectors_per_request", RATIO},
                                               {"ideal", "sectors_ideal", RATIO},
                                               {"wavefronts per request", "wavefronts_per_request", RATIO},
                                               {"ideal", "wavefronts_ideal", RATIO},
                                               {"shared loads, as written", "shared_loads_as_written", NUMBER},
                                               {"as compiled", "shared_loads_as_compiled", NUMBER}};
    write_counted_table(
        report, explained, "Coalescing and bank conflicts",
        "Sectors of 32 bytes per request to global memory, and wavefronts per request to shared memory. Values above the ideal mean uncoalesced accesses or bank conflicts.",
        columns, sizeof columns / sizeof *columns);
}

static void write_occupancy_table(lab_report *report, const explained_gpu_t *explained)
{
    static const counted_column_t columns[] = {
        {"registers", "registers", COUNT},   {"shared bytes", "shared_bytes", COUNT},
        {"spills", "spills", COUNT},         {"resident blocks", "blocks_held", COUNT},
        {"occupancy", "occupancy", PERCENT}, {"limited by", "occupancy_bound_by", TEXT},
        {"waves", "waves", NUMBER}};
    write_counted_table(report, explained, "Occupancy",
                        "Registers, shared memory and spills of each compiled kernel, and its occupancy.", columns,
                        sizeof columns / sizeof *columns);
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

/* ---- The section ---- */

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
    char heading[200], id[32];
    snprintf(id, sizeof id, "explained-%d", number);
    snprintf(heading, sizeof heading, "Explained for a %.80s", explained->title);
    lab_page_section(&report->page, id, heading);
    lab_page_text(
        &report->page, "lead",
        "Counted from the addresses that the kernels compute and from the compiled code, without a GPU; architecture %.30s.",
        lab_json_get_text(explained->rows[0], "arch", "?"));
    write_prediction_warning(report, explained);
    draw_predicted(report, explained);
    draw_dram_roofline(report, explained);
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
        list[most - 1].left_out++; /* rows of further GPUs are counted with the last one */
        return;
    }
    if (i == *count) {
        list[i].machine = machine;
        list[i].is_known = lab_gpu_find_listed(machine, &list[i].gpu);
        list[i].title = list[i].is_known ? list[i].gpu.title : machine;
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
