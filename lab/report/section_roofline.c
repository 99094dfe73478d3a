/* SPDX-License-Identifier: Apache-2.0 */
/* section_roofline.c - draws the roofline of a group of rows for the bench section of a report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/report_internal.h"

/* ---- Roofline ---- */

static double roofline_at(const lab_roofline *roofline, double intensity)
{
    double compute = 0, memory = 0;
    for (int i = 0; i < roofline->ceiling_count; i++) {
        compute = fmax(compute, roofline->ceilings[i].gflops);
        if (roofline->ceilings[i].is_memory)
            memory = roofline->ceilings[i].gb_s * intensity;
    }
    return memory > 0 && (compute == 0 || memory < compute) ? memory : compute;
}

static void tabulate_points(const lab_report_row_group *group, const lab_roofline *roofline, lab_data_table *grid)
{
    lab_data_table_begin(grid, 6, "llrrrr",
                         (const char *[]){"kernel", "m x n x k", "FLOP per byte", "GFLOPS", "roofline", "of roofline"});
    for (int i = 0; i < group->count; i++) {
        const lab_result *row = group->rows[i].row;
        double intensity = lab_intensity(row), roof = roofline_at(roofline, intensity);
        char problem[96];
        if (!(intensity > 0))
            continue;
        lab_format_problem(row->m, row->n, row->k, problem, sizeof problem);
        lab_data_table_add(grid, "%s", group->rows[i].label);
        lab_data_table_add(grid, "%s", problem);
        lab_data_table_add_number(grid, intensity);
        lab_data_table_add_number(grid, row->gflops);
        lab_data_table_add_number(grid, roof);
        if (roof > 0)
            lab_data_table_add(grid, "%.0f %%", lab_report_percent_of(row->gflops, roof));
        else
            lab_data_table_add(grid, "-");
    }
    for (int i = 0; i < roofline->ceiling_count; i++) {
        lab_data_table_add(grid, "ceiling: %s", roofline->ceilings[i].label);
        for (int j = 0; j < 2; j++)
            lab_data_table_add(grid, "-");
        lab_data_table_add_number(grid, roofline->ceilings[i].gflops);
        for (int j = 0; j < 2; j++)
            lab_data_table_add(grid, "-");
    }
}

void lab_report_draw_roofline_chart(lab_report *report, const lab_report_row_group *group)
{
    lab_roofline roofline = {.x_unit = "FLOP per byte of A, B and C",
                             .list = calloc((size_t)group->count, sizeof(lab_roofline_point))};
    double peak = lab_report_median_peak(report, group, 0, group->count);
    char number[32], slug[360];
    lab_data_table grid = {0};
    for (int i = 0; i < group->count && roofline.list; i++) {
        double intensity = lab_intensity(group->rows[i].row);
        lab_roofline_point *point = &roofline.list[roofline.count];
        if (!(intensity > 0) || !(group->rows[i].row->gflops > 0))
            continue;
        snprintf(point->label, sizeof point->label, "%s", group->rows[i].label);
        point->mark = group->rows[i].mark;
        point->intensity = intensity;
        point->gflops = group->rows[i].row->gflops;
        roofline.count++;
    }
    if (peak > 0) {
        lab_format_short(peak, number, sizeof number);
        snprintf(roofline.ceilings[0].label, sizeof roofline.ceilings[0].label, "measured peak %s GFLOPS", number);
        roofline.ceilings[roofline.ceiling_count++].gflops = peak;
    }
    roofline.ceiling_count += lab_report_memory_ceilings(report, group, roofline.ceilings + roofline.ceiling_count,
                                                         LAB_CEILINGS_MAX - roofline.ceiling_count);
    tabulate_points(group, &roofline, &grid);
    snprintf(slug, sizeof slug, "roofline %s", group->title);
    if (roofline.count > 0 && roofline.ceiling_count > 0)
        lab_page_figure(
            &report->page,
            &(lab_figure){
                .slug = slug,
                .title = "Roofline",
                .kind = LAB_FIGURE_MEASURED,
                .context = group->title,
                .caption =
                    "Horizontal: FLOP per byte if A, B and C are moved once, which is the minimum. The lines are the measured peaks of memory and processor. A row far below both lines is limited by something else.",
                .description = "GFLOPS of each row over its arithmetic "
                               "intensity, below measured ceilings.",
                .draw = lab_draw_roofline,
                .data = &roofline,
                .grid = &grid});
    else if (roofline.count > 0)
        lab_page_text(
            &report->page, "soft",
            "No roofline: no peak of this device was measured. Run \"rung peak --json\" and add its file to the report.");
    lab_data_table_free(&grid);
    free(roofline.list);
}
