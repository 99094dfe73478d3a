/* SPDX-License-Identifier: Apache-2.0 */
/* report_ceilings.c - finds the measured peaks, memory ceilings and best library of a row; see report.h. */
#include "report/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rung/rung.h"

/* ---- Ceilings that were measured ---- */

/* A processor's ceilings hold for what runs on it: itself, and a driver that says its name. */
static bool is_peak_for_group(const lab_report_input *peaks, const lab_report_row_group *group)
{
    const lab_json_value *there = lab_json_get(peaks->root, "machine"), *here = group->input->results.machine;
    const char *processor = lab_json_get_text(there, "processor", lab_json_get_text(there, "title", ""));
    if (!*processor || strcmp(processor, lab_json_get_text(here, "processor", "?")) != 0)
        return false;
    return strncmp(group->first->device, "cpu", 3) == 0 ||
           strstr(lab_json_get_text(here, "title", ""), processor) != NULL;
}

/* As many threads as the row has; where it does not say, as many as there are. */
static bool has_same_threads(const lab_report_input *peaks, const lab_json_value *peak,
                             const lab_report_row_group *group)
{
    int64_t threads = group->first->threads, most = 0;
    for (const lab_json_value *at = peaks->rows->first; at; at = at->next)
        most = lab_json_get_integer(at, "threads", 1) > most ? lab_json_get_integer(at, "threads", 1) : most;
    return lab_json_get_integer(peak, "threads", 1) == (threads > 0 ? threads : most);
}

static double measured_peak(const lab_report *report, const lab_report_row_group *group)
{
    double highest = 0;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "fma %.40s", group->first->dtype);
    for (int i = 0; i < report->input_count; i++) {
        const lab_report_input *peaks = &report->inputs[i];
        if (peaks->kind != LAB_REPORT_INPUT_PEAK || !is_peak_for_group(peaks, group))
            continue;
        for (const lab_json_value *at = peaks->rows->first; at; at = at->next)
            if (strcmp(lab_json_get_text(at, "ceiling", ""), wanted) == 0 && has_same_threads(peaks, at, group))
                highest = fmax(highest, lab_json_get_number(at, "gflops", 0));
    }
    return highest;
}

/* The per cents count what a mode makes of the probe's products: six for one in bf16x3. */
double lab_report_peak_gflops(const lab_report *report, const lab_report_row_group *group, const lab_result *row)
{
    double probe = lab_json_get_number(row->fields, "probe_gflops", 0),
           percent = lab_json_get_number(row->fields, "percent_of_probe", 0);
    return probe > 0 && percent > 0 ? 100 * (row->gflops / percent) : probe > 0 ? probe : measured_peak(report, group);
}

bool lab_result_best_library(const lab_result *row, const char **library, double *percent)
{
    *library = lab_kernel_chart_name(lab_json_get_text(row->fields, "best_peer", ""));
    *percent = lab_json_get_number(row->fields, "percent_of_best_peer", 0);
    if (**library && *percent > 0)
        return true;
    *library = lab_result_device_library(row);
    *percent = lab_json_get_number(row->fields, "percent_of_vendor", 0);
    return *percent > 0;
}

int lab_report_memory_ceilings(const lab_report *report, const lab_report_row_group *group,
                               lab_roofline_ceiling *ceilings, int most)
{
    int count = 0;
    for (int i = 0; i < report->input_count; i++) {
        const lab_report_input *peaks = &report->inputs[i];
        if (peaks->kind != LAB_REPORT_INPUT_PEAK || !is_peak_for_group(peaks, group))
            continue;
        for (const lab_json_value *at = peaks->rows->first; at && count < most; at = at->next) {
            double gb_s = lab_json_get_number(at, "gb_s", 0);
            if (strcmp(lab_json_get_text(at, "ceiling", ""), "read") != 0 || !(gb_s > 0) ||
                !has_same_threads(peaks, at, group))
                continue;
            char value[32];
            lab_format_short(gb_s, value, sizeof value);
            snprintf(ceilings[count].label, sizeof ceilings[count].label, "%.40s %s GB/s",
                     lab_json_get_text(at, "level", "?"), value);
            ceilings[count].gflops = 0;
            ceilings[count].is_memory = strcmp(lab_json_get_text(at, "level", ""), "memory") == 0;
            ceilings[count++].gb_s = gb_s;
        }
    }
    return count;
}
