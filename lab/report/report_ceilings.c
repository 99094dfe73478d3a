/* SPDX-License-Identifier: Apache-2.0 */
/* report_ceilings.c - finds the measured peaks, memory ceilings and best library of a row; see report.h. */
#include "report/report.h"

#include <math.h>
#include <string.h>

#include "common/statistics.h"

/* Returns whether the peaks were measured on the processor of the group: the rows ran on the CPU, or on a driver with
 * the processor's name in its title. */
static bool is_peak_for_group(const lab_report_input *peaks, const lab_report_row_group *group)
{
    const lab_json_value *there = lab_json_get(peaks->root, "machine"), *here = group->input->results.machine;
    const char *processor = lab_json_get_text(there, "processor", lab_json_get_text(there, "title", ""));
    if (!*processor || strcmp(processor, lab_json_get_text(here, "processor", "?")) != 0)
        return false;
    return strncmp(group->first->device, "cpu", 3) == 0 ||
           strstr(lab_json_get_text(here, "title", ""), processor) != NULL;
}

/* Returns whether a peak was measured with the threads of the group, or with the most threads if the group does not
 * say. */
static bool has_same_threads(const lab_report_input *peaks, const lab_json_value *peak,
                             const lab_report_row_group *group)
{
    int64_t threads = group->first->threads, most = 0;
    for (const lab_json_value *at = peaks->rows->first; at; at = at->next)
        most = lab_json_get_integer(at, "threads", 1) > most ? lab_json_get_integer(at, "threads", 1) : most;
    return lab_json_get_integer(peak, "threads", 1) == (threads > 0 ? threads : most);
}

/* Returns whether a row of a `rung peak` file is this ceiling of the group's machine. */
static bool is_ceiling_of_group(const lab_report_input *peaks, const lab_json_value *peak, const char *ceiling,
                                const lab_report_row_group *group)
{
    return strcmp(lab_json_get_text(peak, "ceiling", ""), ceiling) == 0 && is_peak_for_group(peaks, group) &&
           has_same_threads(peaks, peak, group);
}

static double measured_peak(const lab_report *report, const lab_report_row_group *group)
{
    double highest = 0;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "fma %.40s", group->first->dtype);
    for (int i = 0; i < report->input_count; i++)
        for (const lab_json_value *at = lab_report_first_row(report, i, LAB_REPORT_INPUT_PEAK); at; at = at->next)
            if (is_ceiling_of_group(&report->inputs[i], at, wanted, group))
                highest = fmax(highest, lab_json_get_number(at, "gflops", 0));
    return highest;
}

/* The percentage accounts for modes that need several products of the probe per product, such as six in bf16x3. */
double lab_report_peak_gflops(const lab_report *report, const lab_report_row_group *group, const lab_result *row)
{
    double probe = lab_json_get_number(row->fields, "probe_gflops", 0),
           percent = lab_json_get_number(row->fields, "percent_of_probe", 0);
    return probe > 0 && percent > 0 ? 100 * (row->gflops / percent) : probe > 0 ? probe : measured_peak(report, group);
}

double lab_report_median_peak(const lab_report *report, const lab_report_row_group *group, int start, int end)
{
    double peaks[64];
    int count = 0;
    for (int i = start; i < end && count < 64; i++) {
        double peak = lab_report_peak_gflops(report, group, group->rows[i].row);
        if (peak > 0)
            peaks[count++] = peak;
    }
    lab_sort_doubles(peaks, count);
    return count > 0 ? peaks[count / 2] : 0;
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

void lab_report_add_memory_ceilings(const lab_report *report, const lab_report_row_group *group, lab_roofline *roofline)
{
    for (int i = 0; i < report->input_count; i++)
        for (const lab_json_value *at = lab_report_first_row(report, i, LAB_REPORT_INPUT_PEAK); at; at = at->next) {
            const char *level = lab_json_get_text(at, "level", "?");
            double gb_s = lab_json_get_number(at, "gb_s", 0);
            if (gb_s > 0 && is_ceiling_of_group(&report->inputs[i], at, "read", group)) {
                lab_roofline_ceiling *added = lab_roofline_add_ceiling(roofline, level, 0, gb_s);
                if (added)
                    added->is_memory = strcmp(level, "memory") == 0;
            }
        }
}
