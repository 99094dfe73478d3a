/* SPDX-License-Identifier: Apache-2.0 */
/* peak_print.c - rung peak: prints the measured ceilings (see peak.h). */
#include <math.h>
#include <stdlib.h>

#include "bench/peak.h"
#include "cli/options.h"
#include "cli/table.h"
#include "io/json_writer.h"
#include "io/run_info.h"

static void add_row(lab_table *table, const lab_peak_ceiling *ceiling)
{
    char bytes[32] = "-";
    if (ceiling->bytes > 0)
        lab_format_bytes((double)ceiling->bytes, bytes, sizeof bytes);
    lab_table_add(table, 2, (const char *[]){ceiling->name, ceiling->level});
    lab_table_cell(table, ceiling->threads > 0 ? "%lld" : "-", (long long)ceiling->threads);
    lab_table_cell(table, "%s", bytes);
    if (ceiling->gflops > 0)
        lab_table_cell(table, "%.1f GFLOPS", ceiling->gflops);
    else
        lab_table_cell(table, ceiling->gb_s > 0 ? "%.1f GB/s" : "-", ceiling->gb_s);
    if (*ceiling->why_not)
        lab_table_cell(table, "%s", ceiling->why_not);
    else
        lab_table_cell(table, "%.1f%%", ceiling->spread);
}

void lab_peak_print_table(const rung_device_info *device, const lab_peak *peak)
{
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%s: %s (%s)\n\n", device->name, device->title, device->platform);
    lab_table_add(table, 6, (const char *[]){"ceiling", "level", "threads", "bytes", "best", "median below by"});
    for (int i = 0; i < peak->count; i++)
        add_row(table, &peak->list[i]);
    lab_table_print(table, "llrrrl", stdout);
    free(table);
}

static void write_ceiling(lab_json *json, const lab_peak_ceiling *ceiling)
{
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "ceiling", ceiling->name);
    lab_json_string(json, "level", ceiling->level);
    lab_json_integer(json, "threads", ceiling->threads);
    lab_json_integer(json, "bytes", ceiling->bytes);
    lab_json_number(json, "gflops", ceiling->gflops > 0 ? ceiling->gflops : (double)NAN);
    lab_json_number(json, "gb_s", ceiling->gb_s > 0 ? ceiling->gb_s : (double)NAN);
    lab_json_integer(json, "samples", ceiling->samples);
    lab_json_number(json, "spread", ceiling->spread);
    lab_json_string(json, "why_not", ceiling->why_not);
    lab_json_end(json, '}');
}

void lab_peak_print_json(const rung_device_info *device, const lab_peak *peak, const lab_conditions *before,
                         const lab_conditions *after, const lab_warnings *warnings)
{
    lab_json json = lab_json_open(stdout, "rung-peak/1");
    lab_run_info_print(&json, device);
    lab_conditions_print(&json, before, after, warnings);
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < peak->count; i++)
        write_ceiling(&json, &peak->list[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

int lab_peak_exit_code(const lab_peak *peak)
{
    bool any_measured = false;
    for (int i = 0; i < peak->count; i++) {
        if (peak->list[i].is_wrong)
            return LAB_EXIT_WRONG;
        any_measured = any_measured || !*peak->list[i].why_not;
    }
    return any_measured ? LAB_EXIT_SUCCESS : LAB_EXIT_UNAVAILABLE;
}
