/* SPDX-License-Identifier: Apache-2.0 */
/* report_explain.c - what rung explain counted and predicted, with no GPU: never to be taken for measured. */
#include "report.h"

#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 256, BARS_MAX = 40 };

/* What one picture shows: the kernels of one machine. */
typedef struct explained {
    const lab_value *rows[KERNELS_MAX];
    int count, left_out; /* rows that found no place */
    const char *machine;
    lab_machine about;
    bool is_known; /* the machine is on our list */
} explained_t;

static bool find_machine(const char *name, lab_machine *machine)
{
    for (int i = 0; lab_machine_at(i, machine); i++)
        if (strcmp(machine->name, name) == 0)
            return true;
    return false;
}

static void write_title(const explained_t *explained, char *text, size_t capacity)
{
    snprintf(text, capacity, "%.80s", explained->is_known ? explained->about.title : explained->machine);
}

/* The predicted GFLOPS of a row, 0 if it has none or if an input was missing: an estimate is not drawn beside
 * predictions. Results of earlier versions do not say "predicted_from", but tell by other fields that the loop is
 * unknown. */
static double predicted_of(const lab_value *row)
{
    bool has_loop = lab_number(row, "math_share", 0) > 0 && !*lab_text(row, "not_taken_apart", "") &&
                    !*lab_text(row, "not_compiled", "");
    bool is_estimate = strcmp(lab_text(row, "predicted_from", "compiled loop"), "compiled loop") != 0;
    return has_loop && !is_estimate ? lab_number(row, "predicted_gflops", 0) : 0;
}

/* ---- Pictures --------------------------------------------------------------------------------------- */

static void label_row(const lab_value *row, char *text, size_t capacity)
{
    const char *dtype = lab_text(row, "dtype", "f32");
    bool plain = strcmp(dtype, "f32") == 0;
    snprintf(text, capacity, "%.70s%s%.30s", lab_text(row, "kernel", "?"), plain ? "" : " ", plain ? "" : dtype);
}

static void draw_predicted(lab_report *report, const explained_t *explained, const char *title)
{
    int drawn = explained->count < BARS_MAX ? explained->count : BARS_MAX;
    lab_bars bars = {.unit = "GFLOPS, predicted", .list = calloc((size_t)drawn + 1, sizeof(lab_bar))};
    lab_grid grid;
    char slug[160], heading[200], caption[400], more[100] = "";
    int predicted = 0;
    lab_grid_begin(&grid, 9, "lllrrrrlr",
                   (const char *[]){"kernel", "type", "m x n x k", "GFLOPS, predicted", "GFLOPS, reported", "peak",
                                    "of the peak", "bound by", "math in its loop"});
    for (int i = 0; i < explained->count; i++) {
        const lab_value *row = explained->rows[i];
        double gflops = predicted_of(row), peak = lab_number(row, "peak_gflops", 0);
        char problem[96];
        lab_write_problem(lab_integer(row, "m", 0), lab_integer(row, "n", 0), lab_integer(row, "k", 0), problem,
                          sizeof problem);
        lab_grid_add(&grid, "%s", lab_text(row, "kernel", "?"));
        lab_grid_add(&grid, "%s", lab_text(row, "dtype", ""));
        lab_grid_add(&grid, "%s", problem);
        lab_grid_number(&grid, gflops);
        lab_grid_number(&grid, lab_number(row, "reported_gflops", 0));
        lab_grid_number(&grid, peak);
        lab_grid_add(&grid, peak > 0 && gflops > 0 ? "%.0f %%" : "-", peak > 0 ? 100 * (gflops / peak) : 0);
        lab_grid_add(&grid, "%s", lab_text(row, "bound", ""));
        lab_grid_add(&grid, "%.0f %%", 100 * lab_number(row, "math_share", 0));
        predicted += gflops > 0;
        if (!bars.list || bars.count == drawn || !(gflops > 0))
            continue;
        lab_bar *bar = &bars.list[bars.count++];
        bar->value = gflops;
        bar->mark = lab_mark_of(lab_text(row, "kernel", ""));
        label_row(row, bar->label, sizeof bar->label);
    }
    if (bars.count < predicted)
        snprintf(more, sizeof more, " %d of %d are drawn, all are in the table.", bars.count, predicted);
    snprintf(caption, sizeof caption,
             "By a model that adds up what each part of a multiprocessor has to do. It says what "
             "bounds a kernel and which of two is faster; nothing of it was run on a GPU.%s",
             more);
    snprintf(slug, sizeof slug, "predicted %.60s", explained->machine);
    snprintf(heading, sizeof heading, "What is predicted for a %.120s", title);
    if (bars.count > 0)
        lab_page_figure(&report->page, &(lab_figure){.slug = slug,
                                                     .title = heading,
                                                     .kind = LAB_PREDICTED,
                                                     .caption = caption,
                                                     .description = "Predicted GFLOPS of each kernel.",
                                                     .draw = lab_draw_bars,
                                                     .data = &bars,
                                                     .grid = &grid});
    lab_grid_free(&grid);
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
    lab_ceiling *ceiling = &roofline->ceilings[roofline->ceiling_count++];
    lab_write_short(gflops + gb_s, number, sizeof number);
    snprintf(ceiling->label, sizeof ceiling->label, "%.60s %s %s", words, number, gb_s > 0 ? "GB/s" : "GFLOPS");
    ceiling->gflops = gflops;
    ceiling->gb_s = gb_s;
}

static void add_point(lab_roofline *roofline, lab_grid *grid, const lab_value *row)
{
    double flops = lab_flops(lab_integer(row, "m", 0), lab_integer(row, "n", 0), lab_integer(row, "k", 0));
    double bytes = lab_number(row, "dram_bytes", 0), gflops = predicted_of(row);
    const char *kernel = lab_text(row, "kernel", "?");
    char peak[80];
    if (!(bytes > 0) || !(gflops > 0) || !(flops > 0))
        return;
    lab_point *point = &roofline->list[roofline->count++];
    label_row(row, point->label, sizeof point->label);
    snprintf(point->short_label, sizeof point->short_label, "%.*s",
             (int)strspn(kernel, "0123456789") > 3 ? 3 : (int)strspn(kernel, "0123456789"), kernel);
    point->mark = lab_mark_of(kernel);
    point->intensity = flops / bytes;
    point->gflops = gflops;
    snprintf(peak, sizeof peak, "peak %.40s", lab_text(row, "dtype", ""));
    if (lab_number(row, "peak_gflops", 0) > 0)
        add_ceiling(roofline, peak, lab_number(row, "peak_gflops", 0), 0);
    lab_grid_add(grid, "%s", kernel);
    lab_grid_add(grid, "%s", lab_text(row, "dtype", ""));
    lab_grid_number(grid, bytes * 1e-6);
    lab_grid_number(grid, point->intensity);
    lab_grid_number(grid, gflops);
}

static void draw_traffic(lab_report *report, const explained_t *explained, const char *title)
{
    lab_roofline roofline = {.x_unit = "flops for each byte from and to DRAM, counted",
                             .list = calloc((size_t)explained->count, sizeof(lab_point))};
    lab_grid grid;
    char slug[160], heading[200];
    lab_grid_begin(&grid, 5, "llrrr",
                   (const char *[]){"kernel", "type", "DRAM MB, counted", "flops a byte", "GFLOPS, predicted"});
    for (int i = 0; i < explained->count && roofline.list; i++)
        add_point(&roofline, &grid, explained->rows[i]);
    if (explained->is_known)
        add_ceiling(&roofline, "DRAM", 0, explained->about.dram_gbs);
    snprintf(slug, sizeof slug, "roofline %.60s", explained->machine);
    snprintf(heading, sizeof heading, "Roofline of a %.120s", title);
    if (roofline.count > 0 && roofline.ceiling_count > 0)
        lab_page_figure(&report->page,
                        &(lab_figure){.slug = slug,
                                      .title = heading,
                                      .kind = LAB_PREDICTED,
                                      .caption = "To the right: fewer bytes are moved for as many flops, as counted "
                                                 "from what the kernel's warps ask for. Upwards: predicted speed. "
                                                 "Lines are the machine's, by its data sheet. What lies far below "
                                                 "both is bound by neither.",
                                      .description = "Predicted GFLOPS of each kernel over its counted arithmetic "
                                                     "intensity, below the machine's ceilings.",
                                      .draw = lab_draw_roofline,
                                      .data = &roofline,
                                      .grid = &grid});
    lab_grid_free(&grid);
    free(roofline.list);
}

/* ---- Tables ----------------------------------------------------------------------------------------- */

static void add_ratio(lab_grid *grid, const lab_value *row, const char *name)
{
    double value = lab_number(row, name, 0);
    if (value > 0)
        lab_grid_add(grid, "%.2f", value);
    else
        lab_grid_add(grid, "-");
}

static void write_memory(lab_report *report, const explained_t *explained)
{
    lab_grid grid;
    lab_grid_begin(&grid, 8, "llrrrrrr",
                   (const char *[]){"kernel", "type", "sectors a request", "ideal", "wavefronts a request", "ideal",
                                    "loads of shared memory, written", "compiled"});
    for (int i = 0; i < explained->count; i++) {
        const lab_value *row = explained->rows[i];
        lab_grid_add(&grid, "%s", lab_text(row, "kernel", "?"));
        lab_grid_add(&grid, "%s", lab_text(row, "dtype", ""));
        add_ratio(&grid, row, "sectors_per_request");
        add_ratio(&grid, row, "sectors_ideal");
        add_ratio(&grid, row, "wavefronts_per_request");
        add_ratio(&grid, row, "wavefronts_ideal");
        lab_grid_number(&grid, lab_number(row, "shared_loads_as_written", 0));
        lab_grid_number(&grid, lab_number(row, "shared_loads_as_compiled", 0));
    }
    fputs("<figure><figcaption><h3>Coalescing and bank conflicts<span class=\"kind\">counted</span></h3>\n<p>Sectors "
          "of 32 bytes that a warp's request touches in global memory, and wavefronts that one takes in shared "
          "memory. Above the ideal: uncoalesced accesses, or bank conflicts.</p></figcaption>\n",
          report->page.out);
    lab_page_table(&report->page, "Coalescing and bank conflicts, counted", &grid);
    fputs("</figure>\n", report->page.out);
    lab_grid_free(&grid);
}

static void write_occupancy(lab_report *report, const explained_t *explained)
{
    lab_grid grid;
    lab_grid_begin(&grid, 9, "llrrrrrlr",
                   (const char *[]){"kernel", "type", "registers", "shared bytes", "spills", "blocks held", "occupancy",
                                    "bound by", "waves"});
    for (int i = 0; i < explained->count; i++) {
        const lab_value *row = explained->rows[i];
        lab_grid_add(&grid, "%s", lab_text(row, "kernel", "?"));
        lab_grid_add(&grid, "%s", lab_text(row, "dtype", ""));
        lab_grid_add(&grid, "%.0f", lab_number(row, "registers", 0));
        lab_grid_add(&grid, "%.0f", lab_number(row, "shared_bytes", 0));
        lab_grid_add(&grid, "%.0f", lab_number(row, "spills", 0));
        lab_grid_add(&grid, "%.0f", lab_number(row, "blocks_held", 0));
        lab_grid_add(&grid, "%.0f %%", 100 * lab_number(row, "occupancy", 0));
        lab_grid_add(&grid, "%s", lab_text(row, "occupancy_bound_by", ""));
        lab_grid_number(&grid, lab_number(row, "waves", 0));
    }
    fputs("<figure><figcaption><h3>Occupancy<span class=\"kind\">counted</span></h3>\n<p>What NVIDIA's compiler made "
          "of each kernel, and how much of a multiprocessor its blocks then fill.</p></figcaption>\n",
          report->page.out);
    lab_page_table(&report->page, "Occupancy, counted", &grid);
    fputs("</figure>\n", report->page.out);
    lab_grid_free(&grid);
}

static void write_findings(lab_report *report, const explained_t *explained)
{
    lab_grid grid;
    lab_grid_begin(&grid, 3, "lrl", (const char *[]){"file", "line", "what was found"});
    for (int i = 0; i < explained->count; i++)
        for (const lab_value *at = lab_field(explained->rows[i], "findings")->first; at; at = at->next) {
            lab_grid_add(&grid, "%s", lab_text(at, "file", ""));
            lab_grid_add(&grid, "%lld", (long long)lab_integer(at, "line", 0));
            lab_grid_add(&grid, "%s", lab_text(at, "text", ""));
        }
    if (lab_grid_rows(&grid) > 0) {
        fputs("<figure><figcaption><h3>What was found, by line<span class=\"kind\">counted</span></h3></figcaption>\n",
              report->page.out);
        lab_page_table(&report->page, "What was found, by line", &grid);
        fputs("</figure>\n", report->page.out);
    }
    lab_grid_free(&grid);
}

/* ---- All of it -------------------------------------------------------------------------------------- */

static void write_unpredicted(lab_report *report, const explained_t *explained)
{
    int count = 0;
    for (int i = 0; i < explained->count; i++)
        count += !(predicted_of(explained->rows[i]) > 0);
    if (explained->left_out > 0)
        lab_page_text(&report->page, "warn", "%d more rows are not shown here; they are in the fields below.",
                      explained->left_out);
    if (count > 0)
        lab_page_text(&report->page, "warn",
                      "%d of %d kernels %s no complete prediction and %s not ranked: a tool was "
                      "missing, or an input could not be determined. \"rung doctor\" lists the tools.",
                      count, explained->count, count == 1 ? "has" : "have", count == 1 ? "is" : "are");
}

static void write_machine(lab_report *report, const explained_t *explained, int number)
{
    char title[128], heading[200], id[32];
    write_title(explained, title, sizeof title);
    snprintf(id, sizeof id, "explained-%d", number);
    snprintf(heading, sizeof heading, "Explained for a %.100s", title);
    lab_page_section(&report->page, id, heading);
    lab_page_text(&report->page, "lead",
                  "Counted from the addresses that the kernels compute and the code that the compiler made, with no "
                  "GPU at hand; architecture %.30s.",
                  lab_text(explained->rows[0], "arch", "?"));
    write_unpredicted(report, explained);
    draw_predicted(report, explained, title);
    draw_traffic(report, explained, title);
    write_memory(report, explained);
    write_occupancy(report, explained);
    write_findings(report, explained);
}

static void take_row(explained_t *list, int *count, int most, const lab_value *row)
{
    const char *machine = lab_text(row, "machine", "GPU");
    int i = 0;
    while (i < *count && strcmp(list[i].machine, machine) != 0)
        i++;
    if (i == most) {
        list[most - 1].left_out++; /* a machine too many: its rows are counted with the last one's */
        return;
    }
    if (i == *count) {
        list[i].machine = machine;
        list[i].is_known = find_machine(machine, &list[i].about);
        (*count)++;
    }
    if (list[i].count < KERNELS_MAX)
        list[i].rows[list[i].count++] = row;
    else
        list[i].left_out++;
}

static bool is_explained(const lab_input *input, const lab_value *row)
{
    return input->kind == LAB_INPUT_EXPLAIN ? !*lab_text(row, "error", "")
                                            : input->kind == LAB_INPUT_BENCH && predicted_of(row) > 0;
}

bool lab_has_explained(const lab_report *report)
{
    for (int i = 0; i < report->input_count; i++)
        for (const lab_value *at = report->inputs[i].rows->first; at; at = at->next)
            if (is_explained(&report->inputs[i], at))
                return true;
    return false;
}

void lab_report_explain(lab_report *report)
{
    enum { MACHINES_MAX = 16 };
    explained_t *list = calloc(MACHINES_MAX, sizeof *list);
    int count = 0;
    for (int i = 0; i < report->input_count && list; i++)
        for (const lab_value *at = report->inputs[i].rows->first; at; at = at->next)
            if (is_explained(&report->inputs[i], at))
                take_row(list, &count, MACHINES_MAX, at);
    for (int i = 0; i < count; i++)
        write_machine(report, &list[i], i + 1);
    free(list);
}
