/* SPDX-License-Identifier: Apache-2.0 */
/* report_bench.c - what was measured: the ladder at one size, speed over the size, other shapes, the roofline, what a
 * call consists of, and parameters that were swept. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

enum { BARS_MAX = 40, SERIES_MAX = 16, OTHERS_MAX = 256, SMALL = 2, SWEPT_LEAST = 4 };

static double percent_of(double part, double whole)
{
    return whole > 0 ? 100 * (part / whole) : 0;
}

static bool is_square(const lab_result *row)
{
    return row->m == row->n && row->n == row->k;
}

static bool same_problem(const lab_result *a, const lab_result *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k;
}

static bool is_call(const lab_result *row)
{
    return lab_number(row->fields, "call_wall_ns", 0) > 0;
}

static int problem_end(const lab_group *group, int start)
{
    int end = start + 1;
    while (end < group->count && same_problem(group->rows[start].row, group->rows[end].row))
        end++;
    return end;
}

static bool is_doubtful(const lab_shown *shown)
{
    return *lab_text(shown->row->fields, "doubt", "") != '\0';
}

/* The fastest library that is not in doubt, or the fastest kernel; NULL if there is none. */
static const lab_shown *fastest(const lab_group *group, int start, int end, bool library)
{
    const lab_shown *best = NULL;
    for (int i = start; i < end; i++)
        if (group->rows[i].is_library == library && !(library && is_doubtful(&group->rows[i])) &&
            (!best || group->rows[i].row->gflops > best->row->gflops))
            best = &group->rows[i];
    return best;
}

/* The median of what the probes beside these rows said. */
static double peak_of(const lab_report *report, const lab_group *group, int start, int end)
{
    double peaks[64];
    int count = 0;
    for (int i = start; i < end && count < 64; i++) {
        double peak = lab_peak_of(report, group, group->rows[i].row);
        if (peak > 0)
            peaks[count++] = peak;
    }
    lab_sort(peaks, count);
    return count > 0 ? peaks[count / 2] : 0;
}

/* ---- Bars ------------------------------------------------------------------------------------------- */

static void fill_bar(const lab_shown *shown, lab_bar *bar)
{
    const lab_result *row = shown->row;
    double median = (double)row->median_ns, spread = (double)row->ci95_ns;
    *bar = (lab_bar){.value = row->gflops, .mark = shown->mark};
    bool is_slow = strcmp(lab_text(row->fields, "mode", ""), "slow") == 0; /* the machine was, not the kernel */
    snprintf(bar->label, sizeof bar->label, "%.110s%s", shown->label, is_slow ? ", slow mode" : "");
    if (spread > 0 && spread < median) {
        bar->low = row->gflops * (median / (median + spread));
        bar->high = row->gflops * (median / (median - spread));
    }
}

static void begin_rows(lab_grid *grid)
{
    lab_grid_begin(grid, 13, "lllrrrrrrrrll",
                   (const char *[]){"kernel", "parameters", "m x n x k", "threads", "GFLOPS", "median ms", "+-95 % ms",
                                    "least ms", "of best library", "of peak", "samples", "mode", "in doubt"});
}

static void add_row(lab_grid *grid, const lab_shown *shown, double peak)
{
    const lab_result *row = shown->row;
    const char *library;
    double percent;
    char problem[96];
    lab_write_problem(row->m, row->n, row->k, problem, sizeof problem);
    lab_grid_add(grid, "%s", shown->is_library ? shown->label : row->kernel);
    lab_grid_add(grid, "%s", *row->params ? row->params : "-");
    lab_grid_add(grid, "%s", problem);
    if (row->threads > 0)
        lab_grid_add(grid, "%lld", (long long)row->threads);
    else
        lab_grid_add(grid, "-");
    lab_grid_number(grid, row->gflops);
    lab_grid_number(grid, (double)row->median_ns * 1e-6);
    if (lab_integer(row->fields, "samples", 0) > 1)
        lab_grid_number(grid, (double)row->ci95_ns * 1e-6);
    else
        lab_grid_add(grid, "-"); /* one sample has no spread */
    lab_grid_number(grid, (double)row->min_ns * 1e-6);
    if (lab_beside(row, &library, &percent))
        lab_grid_add(grid, "%.0f %%", percent);
    else
        lab_grid_add(grid, "-");
    if (peak > 0)
        lab_grid_add(grid, "%.0f %%", percent_of(row->gflops, peak));
    else
        lab_grid_add(grid, "-");
    lab_grid_add(grid, "%lld", (long long)lab_integer(row->fields, "samples", 0));
    lab_grid_add(grid, "%s", lab_text(row->fields, "mode", "-"));
    lab_grid_add(grid, "%s", lab_text(row->fields, "doubt", ""));
}

static void add_limit(lab_bars *bars, const char *what, double value, lab_colour colour)
{
    char number[32];
    if (!(value > 0) || bars->limit_count == LAB_CEILINGS_MAX)
        return;
    lab_limit *limit = &bars->limits[bars->limit_count++];
    lab_write_short(value, number, sizeof number);
    snprintf(limit->label, sizeof limit->label, "%.80s %s", what, number);
    limit->value = value;
    limit->colour = colour;
}

/* What the picture says, in words: for a caption, and for those who do not see it. */
static void say_best(const lab_shown *best, double peak, char *text, size_t capacity)
{
    const char *library;
    double percent;
    char value[32], beside[160] = "", of_peak[64] = "";
    if (!best) {
        snprintf(text, capacity, "Only other libraries were timed here.");
        return;
    }
    lab_write_short(best->row->gflops, value, sizeof value);
    if (lab_beside(best->row, &library, &percent))
        snprintf(beside, sizeof beside, ", %.0f %% of %.60s", percent, library);
    if (peak > 0)
        snprintf(of_peak, sizeof of_peak, ", %.0f %% of the measured peak", percent_of(best->row->gflops, peak));
    snprintf(text, capacity, "The fastest is %.80s with %s GFLOPS%s%s.", best->label, value, beside, of_peak);
}

static void draw_ladder(lab_report *report, const lab_group *group)
{
    int start = group->main_from, end = start + group->main_count,
        drawn = group->main_count < BARS_MAX ? group->main_count : BARS_MAX;
    const lab_shown *library = fastest(group, start, end, true), *best = fastest(group, start, end, false);
    double peak = peak_of(report, group, start, end);
    char problem[96], title[400], caption[600], says[400], more[120] = "", slug[360];
    lab_bars bars = {.unit = "GFLOPS", .count = drawn, .list = calloc((size_t)drawn, sizeof(lab_bar))};
    lab_grid grid;
    begin_rows(&grid);
    for (int i = start; i < end; i++)
        add_row(&grid, &group->rows[i], lab_peak_of(report, group, group->rows[i].row));
    for (int i = 0; i < drawn && bars.list; i++)
        fill_bar(&group->rows[start + i], &bars.list[i]);
    add_limit(&bars, "measured peak", peak, LAB_roof);
    if (library) {
        snprintf(says, sizeof says, "best library: %.60s", library->label);
        add_limit(&bars, says, library->row->gflops, library->mark.colour);
    }
    lab_write_problem(group->rows[start].row->m, group->rows[start].row->n, group->rows[start].row->k, problem,
                      sizeof problem);
    say_best(best, best ? lab_peak_of(report, group, best->row) : 0, says, sizeof says);
    if (drawn < group->main_count)
        snprintf(more, sizeof more, " %d of %d are drawn, all are in the table.", drawn, group->main_count);
    snprintf(title, sizeof title, "%s at %s", is_call(group->first) ? "Whole calls" : "The ladder", problem);
    snprintf(caption, sizeof caption,
             "%s%s Longer is faster; full bars are kernels, hollow ones other libraries; whiskers are 95 %% intervals.",
             says, more);
    snprintf(slug, sizeof slug, "ladder %s", group->title);
    if (bars.list)
        lab_page_figure(&report->page, &(lab_figure){.slug = slug,
                                                     .title = title,
                                                     .kind = LAB_MEASURED,
                                                     .context = group->title,
                                                     .caption = caption,
                                                     .description = says,
                                                     .draw = lab_draw_bars,
                                                     .data = &bars,
                                                     .grid = &grid});
    lab_grid_free(&grid);
    free(bars.list);
}

/* Shapes that are no squares, a heading each. */
static void draw_shapes(lab_report *report, const lab_group *group)
{
    lab_bars bars = {.unit = "GFLOPS", .list = calloc(BARS_MAX, sizeof(lab_bar))};
    lab_grid grid;
    char slug[360];
    int left_out = 0;
    begin_rows(&grid);
    for (int start = 0, end; start < group->count && bars.list; start = end) {
        end = problem_end(group, start);
        if (is_square(group->rows[start].row) || start == group->main_from)
            continue;
        for (int i = start; i < end; i++) {
            add_row(&grid, &group->rows[i], lab_peak_of(report, group, group->rows[i].row));
            if (bars.count == BARS_MAX) {
                left_out++;
                continue;
            }
            lab_bar *bar = &bars.list[bars.count++];
            fill_bar(&group->rows[i], bar);
            if (i == start)
                lab_write_problem(group->rows[i].row->m, group->rows[i].row->n, group->rows[i].row->k, bar->heading,
                                  sizeof bar->heading);
        }
    }
    snprintf(slug, sizeof slug, "shapes %s", group->title);
    if (bars.count > 0)
        lab_page_figure(&report->page, &(lab_figure){.slug = slug,
                                                     .title = "Other shapes",
                                                     .kind = LAB_MEASURED,
                                                     .context = group->title,
                                                     .caption = left_out ? "Few rows, or a short k: what networks "
                                                                           "ask for. Not all of them are drawn; the "
                                                                           "table has them."
                                                                         : "Few rows, or a short k: what networks "
                                                                           "ask for. Each part is one m x n x k.",
                                                     .description = "GFLOPS of each kernel and library on matrices "
                                                                    "that are not square.",
                                                     .draw = lab_draw_bars,
                                                     .data = &bars,
                                                     .grid = &grid});
    lab_grid_free(&grid);
    free(bars.list);
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

typedef struct sized {
    lab_curve list[SERIES_MAX + 1]; /* and the peak */
    int count;
    double *x, *y;
    int used;
    const char *others[OTHERS_MAX]; /* labels of kernels that found no place */
    int left_out;
} sized_t;

/* Counts each label once; those of one problem come before the next, and each problem has all of them. */
static void note_left_out(sized_t *sized, const char *label)
{
    for (int i = 0; i < sized->left_out; i++)
        if (strcmp(sized->others[i], label) == 0)
            return;
    if (sized->left_out < OTHERS_MAX)
        sized->others[sized->left_out++] = label;
}

static lab_curve *series_of(sized_t *sized, const lab_shown *shown, int sizes)
{
    for (int i = 0; i < sized->count; i++)
        if (strcmp(sized->list[i].label, shown->label) == 0)
            return &sized->list[i];
    if (sized->count == SERIES_MAX) {
        note_left_out(sized, shown->label);
        return NULL;
    }
    lab_curve *series = &sized->list[sized->count++];
    *series = (lab_curve){.mark = shown->mark, .x = sized->x + sized->used, .y = sized->y + sized->used};
    snprintf(series->label, sizeof series->label, "%s", shown->label);
    sized->used += sizes;
    return series;
}

static int count_squares(const lab_group *group)
{
    int count = 0;
    for (int start = 0; start < group->count; start = problem_end(group, start))
        count += is_square(group->rows[start].row) && group->rows[start].row->m > 0;
    return count;
}

/* Every row that is square into its series, and the peak beside them. */
static void gather_series(const lab_report *report, const lab_group *group, int sizes, sized_t *sized)
{
    lab_curve peaks = {.mark = {LAB_roof, 0, false},
                       .is_limit = true,
                       .x = sized->x + SERIES_MAX * sizes,
                       .y = sized->y + SERIES_MAX * sizes};
    for (int start = 0, end; start < group->count; start = end) {
        end = problem_end(group, start);
        if (!is_square(group->rows[start].row) || group->rows[start].row->m == 0)
            continue;
        double size = (double)group->rows[start].row->m, peak = peak_of(report, group, start, end);
        for (int i = start; i < end; i++) {
            lab_curve *series = series_of(sized, &group->rows[i], sizes);
            if (series && series->count < sizes) {
                series->x[series->count] = size;
                series->y[series->count++] = group->rows[i].row->gflops;
            }
        }
        if (peak > 0) {
            peaks.x[peaks.count] = size;
            peaks.y[peaks.count++] = peak;
        }
    }
    if (peaks.count > 0) {
        char number[32];
        lab_write_short(peak_of(report, group, 0, group->count), number, sizeof number);
        snprintf(peaks.label, sizeof peaks.label, "measured peak %s", number);
        sized->list[sized->count++] = peaks;
    }
}

static double value_at(const lab_curve *series, double x)
{
    for (int i = 0; i < series->count; i++)
        if (series->x[i] == x)
            return series->y[i];
    return 0;
}

static void tabulate_series(const lab_group *group, const sized_t *sized, lab_grid *grid)
{
    const char *heads[SERIES_MAX + 2] = {"size"};
    for (int i = 0; i < sized->count; i++)
        heads[i + 1] = sized->list[i].label;
    lab_grid_begin(grid, sized->count + 1, NULL, heads);
    for (int start = 0; start < group->count; start = problem_end(group, start)) {
        const lab_result *row = group->rows[start].row;
        if (!is_square(row) || row->m == 0)
            continue;
        lab_grid_add(grid, "%lld", (long long)row->m);
        for (int i = 0; i < sized->count; i++)
            lab_grid_number(grid, value_at(&sized->list[i], (double)row->m));
    }
}

static void draw_sizes(lab_report *report, const lab_group *group)
{
    int sizes = count_squares(group);
    sized_t *sized = calloc(1, sizeof *sized);
    double *room = calloc((size_t)(SERIES_MAX + 1) * 2 * (size_t)(sizes + 1), sizeof *room);
    char slug[360], more[120] = "", caption[400];
    lab_grid grid = {0};
    if (sized && room && sizes >= 2) {
        sized->x = room;
        sized->y = room + (SERIES_MAX + 1) * (sizes + 1);
        gather_series(report, group, sizes, sized);
        tabulate_series(group, sized, &grid);
        lab_lines lines = {.x_unit = "m = n = k", .y_unit = "GFLOPS", .list = sized->list, .count = sized->count};
        snprintf(slug, sizeof slug, "sizes %s", group->title);
        if (sized->left_out > 0)
            snprintf(more, sizeof more, " %d of %d%s kernels are drawn, all are in the fields below.", SERIES_MAX,
                     SERIES_MAX + sized->left_out, sized->left_out == OTHERS_MAX ? " or more" : "");
        snprintf(
            caption, sizeof caption,
            "Square matrices. Full lines and full marks are kernels, dashed lines and hollow marks other libraries, "
            "the dotted line is the measured peak; an arrow says that it is far above.%s",
            more);
        lab_page_figure(&report->page,
                        &(lab_figure){.slug = slug,
                                      .title = "Speed over the size",
                                      .kind = LAB_MEASURED,
                                      .context = group->title,
                                      .caption = caption,
                                      .description = "GFLOPS of each kernel and library over the size of square "
                                                     "matrices.",
                                      .draw = lab_draw_lines,
                                      .data = &lines,
                                      .grid = &grid});
    }
    lab_grid_free(&grid);
    free(room);
    free(sized);
}

/* ---- Roofline --------------------------------------------------------------------------------------- */

static double roof_at(const lab_roofline *roofline, double intensity)
{
    double compute = 0, memory = 0;
    for (int i = 0; i < roofline->ceiling_count; i++) {
        compute = fmax(compute, roofline->ceilings[i].gflops);
        if (roofline->ceilings[i].is_memory)
            memory = roofline->ceilings[i].gb_s * intensity;
    }
    return memory > 0 && (compute == 0 || memory < compute) ? memory : compute;
}

static void tabulate_points(const lab_group *group, const lab_roofline *roofline, lab_grid *grid)
{
    lab_grid_begin(grid, 6, "llrrrr",
                   (const char *[]){"kernel", "m x n x k", "flops a byte", "GFLOPS", "roof there", "of the roof"});
    for (int i = 0; i < group->count; i++) {
        const lab_result *row = group->rows[i].row;
        double intensity = lab_intensity(row), roof = roof_at(roofline, intensity);
        char problem[96];
        if (!(intensity > 0))
            continue;
        lab_write_problem(row->m, row->n, row->k, problem, sizeof problem);
        lab_grid_add(grid, "%s", group->rows[i].label);
        lab_grid_add(grid, "%s", problem);
        lab_grid_number(grid, intensity);
        lab_grid_number(grid, row->gflops);
        lab_grid_number(grid, roof);
        if (roof > 0)
            lab_grid_add(grid, "%.0f %%", percent_of(row->gflops, roof));
        else
            lab_grid_add(grid, "-");
    }
    for (int i = 0; i < roofline->ceiling_count; i++) {
        lab_grid_add(grid, "ceiling: %s", roofline->ceilings[i].label);
        for (int j = 0; j < 2; j++)
            lab_grid_add(grid, "-");
        lab_grid_number(grid, roofline->ceilings[i].gflops);
        for (int j = 0; j < 2; j++)
            lab_grid_add(grid, "-");
    }
}

static void draw_points(lab_report *report, const lab_group *group)
{
    lab_roofline roofline = {.x_unit = "flops for each byte of A, B and C",
                             .list = calloc((size_t)group->count, sizeof(lab_point))};
    double peak = peak_of(report, group, 0, group->count);
    char number[32], slug[360];
    lab_grid grid = {0};
    for (int i = 0; i < group->count && roofline.list; i++) {
        double intensity = lab_intensity(group->rows[i].row);
        lab_point *point = &roofline.list[roofline.count];
        if (!(intensity > 0) || !(group->rows[i].row->gflops > 0))
            continue;
        snprintf(point->label, sizeof point->label, "%s", group->rows[i].label);
        point->mark = group->rows[i].mark;
        point->intensity = intensity;
        point->gflops = group->rows[i].row->gflops;
        roofline.count++;
    }
    if (peak > 0) {
        lab_write_short(peak, number, sizeof number);
        snprintf(roofline.ceilings[0].label, sizeof roofline.ceilings[0].label, "measured peak %s GFLOPS", number);
        roofline.ceilings[roofline.ceiling_count++].gflops = peak;
    }
    roofline.ceiling_count += lab_memory_of(report, group, roofline.ceilings + roofline.ceiling_count,
                                            LAB_CEILINGS_MAX - roofline.ceiling_count);
    tabulate_points(group, &roofline, &grid);
    snprintf(slug, sizeof slug, "roofline %s", group->title);
    if (roofline.count > 0 && roofline.ceiling_count > 0)
        lab_page_figure(&report->page, &(lab_figure){.slug = slug,
                                                     .title = "Roofline",
                                                     .kind = LAB_MEASURED,
                                                     .context = group->title,
                                                     .caption = "Every row at the flops that it has for each byte if "
                                                                "A, B and C are moved once, which is the least. "
                                                                "Lines are what memory and the processor were "
                                                                "measured to give; what lies far below both waits "
                                                                "for something else.",
                                                     .description = "GFLOPS of each row over its arithmetic "
                                                                    "intensity, below measured ceilings.",
                                                     .draw = lab_draw_roofline,
                                                     .data = &roofline,
                                                     .grid = &grid});
    else if (roofline.count > 0)
        lab_page_text(&report->page, "soft",
                      "There is no roofline here, since no ceiling of this device was measured: rung peak measures a "
                      "processor's, and its file may be given too.");
    lab_grid_free(&grid);
    free(roofline.list);
}

/* ---- Copying and computing -------------------------------------------------------------------------- */

static void fill_parts(const lab_shown *shown, lab_part_bar *bar, lab_grid *grid)
{
    const lab_value *fields = shown->row->fields;
    bool call = is_call(shown->row);
    const char *names[] = {call ? "up_ns" : "h2d_ns", "kernel_ns", call ? "down_ns" : "d2h_ns", call ? "host_ns" : ""};
    char problem[96], total[32];
    double sum = 0;
    lab_write_problem(shown->row->m, shown->row->n, shown->row->k, problem, sizeof problem);
    if (is_square(shown->row))
        snprintf(problem, sizeof problem, "%lld", (long long)shown->row->m);
    snprintf(bar->label, sizeof bar->label, "%.50s: %.72s", problem, shown->label);
    lab_grid_add(grid, "%s", bar->label);
    for (int i = 0; i < LAB_PARTS_MAX; i++) {
        bar->parts[i] = fmax(lab_number(fields, names[i], 0), 0) * 1e-6;
        sum += bar->parts[i];
        lab_grid_number(grid, bar->parts[i]);
    }
    double wall = call ? lab_number(fields, "call_wall_ns", 0) * 1e-6 : sum;
    lab_write_short(wall, total, sizeof total);
    snprintf(bar->total, sizeof bar->total, "%s ms", total);
    lab_grid_number(grid, wall);
    if (call)
        lab_grid_add(grid, "%.0f %%", lab_number(fields, "hidden_percent", 0));
    else
        lab_grid_add(grid, "-");
}

/* For each problem the fastest kernel, and every way in which rung_gemm was called. */
static void draw_split(lab_report *report, const lab_group *group)
{
    lab_parts parts = {.names = {"to the device", "multiplying", "back", "packing on the host"},
                       .name_count = LAB_PARTS_MAX,
                       .list = calloc(BARS_MAX, sizeof(lab_part_bar))};
    lab_grid grid;
    char slug[360];
    lab_grid_begin(&grid, 7, "lrrrrrr",
                   (const char *[]){"problem and kernel", "to the device ms", "multiplying ms", "back ms", "packing ms",
                                    "all ms", "copying hidden"});
    for (int start = 0, end; start < group->count && parts.list; start = end) {
        end = problem_end(group, start);
        const lab_shown *best = fastest(group, start, end, false);
        for (int i = start; i < end; i++)
            if (parts.count < BARS_MAX && (is_call(group->rows[i].row) || &group->rows[i] == best) &&
                lab_number(group->rows[i].row->fields, "kernel_ns", 0) > 0)
                fill_parts(&group->rows[i], &parts.list[parts.count++], &grid);
    }
    snprintf(slug, sizeof slug, "split %s", group->title);
    if (parts.count > 0 && strncmp(group->first->device, "cpu", 3) != 0)
        lab_page_figure(&report->page, &(lab_figure){.slug = slug,
                                                     .title = "Copying and computing",
                                                     .kind = LAB_MEASURED,
                                                     .context = group->title,
                                                     .caption = "What a multiply of matrices in the host's memory "
                                                                "consists of, as shares of its parts' sum; behind "
                                                                "each bar its whole time. Of a call of rung_gemm "
                                                                "parts may run at once: its time is then less than "
                                                                "their sum.",
                                                     .description = "Shares of copying to the device, multiplying, "
                                                                    "copying back and packing.",
                                                     .draw = lab_draw_parts,
                                                     .data = &parts,
                                                     .grid = &grid});
    lab_grid_free(&grid);
    free(parts.list);
}

/* ---- Sweeps ----------------------------------------------------------------------------------------- */

/* Parameters of a kernel that were tried side by side. */
static void draw_sweeps(lab_report *report, const lab_group *group)
{
    int start = group->main_from, end = start + group->main_count;
    lab_tried *tried = calloc((size_t)group->main_count, sizeof *tried);
    for (int from = start, to; from < end && tried; from = to) {
        const char *kernel = group->rows[from].row->kernel;
        char title[160], slug[400];
        int count = 0;
        for (to = from; to < end && strcmp(group->rows[to].row->kernel, kernel) == 0; to++)
            tried[count++] = (lab_tried){group->rows[to].row->params, group->rows[to].row->gflops};
        snprintf(title, sizeof title, "Parameters of %.100s", kernel);
        snprintf(slug, sizeof slug, "heat %.60s %s", kernel, group->title);
        if (count >= SWEPT_LEAST)
            lab_report_heat(report, title, slug,
                            "The best GFLOPS for each pair of values; the best of all has an edge.", tried, count);
    }
    free(tried);
}

/* ---- All of it -------------------------------------------------------------------------------------- */

static bool is_small(const lab_group *group)
{
    return group->count <= SMALL;
}

static void write_group(lab_report *report, const lab_group *group, int number)
{
    char id[32];
    snprintf(id, sizeof id, "measured-%d", number + 1);
    lab_page_section(&report->page, id, group->title);
    lab_page_text(&report->page, "lead", "%s", group->where);
    draw_ladder(report, group);
    draw_sizes(report, group);
    draw_shapes(report, group);
    if (!is_call(group->first)) /* their time is not the processor's alone */
        draw_points(report, group);
    draw_split(report, group);
    draw_sweeps(report, group);
}

/* Groups of a row or two share a picture: types beside each other. */
static void write_small(lab_report *report)
{
    lab_bars bars = {.unit = "GFLOPS", .list = calloc(BARS_MAX, sizeof(lab_bar))};
    lab_grid grid;
    char caption[240], more[100] = "";
    int all = 0;
    begin_rows(&grid);
    for (int i = 0; i < report->group_count && bars.list; i++) {
        const lab_group *group = &report->groups[i];
        for (int j = 0; j < group->count && is_small(group); j++, all++) {
            add_row(&grid, &group->rows[j], lab_peak_of(report, group, group->rows[j].row));
            if (bars.count == BARS_MAX)
                continue;
            lab_bar *bar = &bars.list[bars.count++];
            fill_bar(&group->rows[j], bar);
            if (j == 0)
                snprintf(bar->heading, sizeof bar->heading, "%.70s, %lld x %lld x %lld", group->title,
                         (long long)group->rows[j].row->m, (long long)group->rows[j].row->n,
                         (long long)group->rows[j].row->k);
        }
    }
    if (bars.count < all)
        snprintf(more, sizeof more, " %d of %d are drawn, all are in the table.", bars.count, all);
    snprintf(caption, sizeof caption,
             "Full bars are kernels, hollow ones other libraries; whiskers are 95 %% intervals.%s", more);
    if (bars.count > 0) {
        lab_page_section(&report->page, "measured-others", "Types and single problems");
        lab_page_figure(&report->page, &(lab_figure){.slug = "types",
                                                     .title = "One or two rows each",
                                                     .kind = LAB_MEASURED,
                                                     .caption = caption,
                                                     .description = "GFLOPS of single rows, by type and problem.",
                                                     .draw = lab_draw_bars,
                                                     .data = &bars,
                                                     .grid = &grid});
    }
    lab_grid_free(&grid);
    free(bars.list);
}

void lab_report_bench(lab_report *report)
{
    for (int i = 0; i < report->group_count; i++)
        if (!is_small(&report->groups[i]))
            write_group(report, &report->groups[i], i);
    write_small(report);
}
