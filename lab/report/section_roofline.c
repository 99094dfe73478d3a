/* SPDX-License-Identifier: Apache-2.0 */
/* section_roofline.c - draws the roofline of a group of rows for the bench section of a report. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

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
        if (!(intensity > 0))
            continue;
        lab_data_table_add(grid, "%s", group->rows[i].label);
        lab_data_table_add(grid, "%s", lab_result_problem(row).text);
        lab_data_table_add_number(grid, intensity);
        lab_data_table_add_number(grid, row->gflops);
        lab_data_table_add_number(grid, roof);
        lab_data_table_add(grid, roof > 0 ? "%.0f %%" : "-", 100 * (row->gflops / roof));
    }
    for (int i = 0; i < roofline->ceiling_count; i++) {
        lab_data_table_add(grid, "ceiling: %s", roofline->ceilings[i].label);
        for (int column = 1; column < grid->columns; column++)
            lab_data_table_add_number(grid, column == 3 ? roofline->ceilings[i].gflops : 0);
    }
}

void lab_report_draw_roofline_chart(lab_report *report, const lab_report_row_group *group)
{
    lab_roofline roofline = {.x_unit = "FLOP per byte of A, B and C",
                             .list = calloc((size_t)group->count, sizeof(lab_roofline_point))};
    double peak = lab_report_median_peak(report, group, 0, group->count);
    lab_data_table grid;
    for (int i = 0; i < group->count && roofline.list; i++) {
        const lab_report_row *shown = &group->rows[i];
        double intensity = lab_intensity(shown->row);
        if (!(intensity > 0) || !(shown->row->gflops > 0))
            continue;
        lab_roofline_point *point = &roofline.list[roofline.count++];
        *point = (lab_roofline_point){.mark = shown->mark, .intensity = intensity, .gflops = shown->row->gflops};
        snprintf(point->label, sizeof point->label, "%s", shown->label);
    }
    if (peak > 0)
        lab_roofline_add_ceiling(&roofline, "measured peak", peak, 0);
    lab_report_add_memory_ceilings(report, group, &roofline);
    tabulate_points(group, &roofline, &grid);
    if (roofline.count > 0 && roofline.ceiling_count > 0)
        lab_report_group_figure(
            report, group, "roofline",
            (lab_figure){
                .title = "Roofline",
                .caption =
                    "Horizontal: FLOP per byte if A, B and C are moved once, which is the minimum. The lines are the measured peaks of memory and processor. A row far below both lines is limited by something else.",
                .description = "GFLOPS of each row over its arithmetic intensity, below measured ceilings.",
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
