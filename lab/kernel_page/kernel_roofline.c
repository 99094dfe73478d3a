/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_roofline.c - the predicted speed of the kernel below the peaks of its GPU. */
#include <stdio.h>

#include "kernel_page/page_parts.h"

enum { SECTOR_BYTES = 32 };

static void add_point(lab_roofline *roofline, lab_data_table *grid, const char *label, double flops, double bytes,
                      double gflops, lab_marker mark)
{
    lab_roofline_point *point = &roofline->list[roofline->count];
    if (!(bytes > 0))
        return;
    roofline->count++;
    *point = (lab_roofline_point){.mark = mark, .intensity = flops / bytes, .gflops = gflops};
    snprintf(point->label, sizeof point->label, "%s", label);
    lab_data_table_add(grid, "%s", label);
    lab_data_table_add_number(grid, bytes);
    lab_data_table_add_number(grid, point->intensity);
    lab_data_table_add_number(grid, gflops);
}

void lab_page_kernel_roofline(lab_page *out, const lab_kernel_page *page)
{
    const lab_explanation *explanation = page->explanation;
    const lab_prediction *prediction = &explanation->prediction;
    const lab_launch_work *work = &explanation->work;
    const lab_gpu *gpu = &explanation->machine;
    lab_roofline_point points[2];
    lab_roofline roofline = {.x_unit = "FLOP per byte, counted", .list = points};
    lab_data_table grid;
    char caption[512];
    if (*explanation->wrong) {
        lab_page_text(out, "soft", "No roofline: the speed of a wrong kernel is not predicted.");
        return;
    }
    if (!prediction->runs) {
        lab_page_text(out, "soft", "No roofline, because there is no prediction: %s.",
                      lab_explanation_why_not_predicted(explanation));
        return;
    }
    lab_data_table_begin(&grid, 4, "lrrr", (const char *[]){"traffic", "bytes", "FLOP per byte", "GFLOPS"});
    add_point(&roofline, &grid, "traffic of DRAM", work->flops, work->dram_bytes, prediction->gflops,
              (lab_marker){LAB_COLOUR_warm0, 0, false});
    add_point(&roofline, &grid, "traffic of L2", work->flops, work->blocks * work->distinct_sectors * SECTOR_BYTES,
              prediction->gflops, (lab_marker){LAB_COLOUR_cool4, 1, false});
    lab_roofline_add_ceiling(&roofline, "peak", prediction->peak_gflops, 0);
    lab_roofline_add_ceiling(&roofline, "DRAM", 0, gpu->dram_gbs);
    lab_roofline_add_ceiling(&roofline, "L2", 0, gpu->l2 * gpu->sm_count * prediction->clock_mhz / 1000);
    snprintf(caption, sizeof caption,
             "Predicted: %.0f GFLOPS on %s, limited by %s. The bytes are counted. A point far below its line "
             "is limited by something else.",
             prediction->gflops, gpu->title, lab_bottleneck_title(prediction->bound));
    lab_page_figure(out,
                    &(lab_figure){.slug = "roofline",
                                  .title = "Roofline",
                                  .kind = LAB_FIGURE_PREDICTED,
                                  .caption = caption,
                                  .description = "The predicted GFLOPS over FLOP per byte of DRAM and of L2, below "
                                                 "the peaks of the GPU.",
                                  .draw = lab_draw_roofline,
                                  .data = &roofline,
                                  .grid = &grid});
    lab_data_table_free(&grid);
}
