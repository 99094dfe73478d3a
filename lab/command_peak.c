/* SPDX-License-Identifier: Apache-2.0 */
/* command_peak.c - rung peak: what this machine can do at most, measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conditions.h"
#include "json.h"
#include "options.h"
#include "peak.h"
#include "setting.h"
#include "table.h"
#include "target.h"

enum { THREADS_MAX = 256 };

static void add_row(lab_table *table, const lab_ceiling *ceiling)
{
    char bytes[32], threads[32], value[32], spread[32];
    double number = ceiling->gflops > 0 ? ceiling->gflops : ceiling->gb_s;
    lab_write_bytes((double)ceiling->bytes, bytes, sizeof bytes);
    snprintf(threads, sizeof threads, "%lld", (long long)ceiling->threads);
    snprintf(value, sizeof value, "%.1f %s", number, ceiling->gflops > 0 ? "GFLOPS" : "GB/s");
    snprintf(spread, sizeof spread, "%.1f%%", ceiling->spread);
    lab_table_add(table, 6,
                  (const char *[]){ceiling->name, ceiling->level, ceiling->threads > 0 ? threads : "-",
                                   ceiling->bytes > 0 ? bytes : "-", number > 0 ? value : "-",
                                   *ceiling->why_not ? ceiling->why_not : spread});
}

static void print_table(const rung_device_info *device, const lab_peak *peak)
{
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%s: %s (%s)\n\n", device->name, device->title, device->platform);
    lab_table_add(table, 6, (const char *[]){"ceiling", "level", "threads", "bytes", "at best", "median below"});
    for (int i = 0; i < peak->count; i++)
        add_row(table, &peak->list[i]);
    lab_table_print(table, "llrrrl", stdout);
    free(table);
}

static void print_ceiling(lab_json *json, const lab_ceiling *ceiling)
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

static void print_json(const rung_device_info *device, const lab_peak *peak, const lab_conditions *before,
                       const lab_conditions *after, const lab_warnings *warnings)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-peak/1");
    lab_setting_print(&json, device);
    lab_conditions_print(&json, before, after, warnings);
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < peak->count; i++)
        print_ceiling(&json, &peak->list[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

/* A ceiling whose loop did not do its work is an error; one that the device has not is none. */
static int judge(const lab_peak *peak)
{
    bool any = false;
    for (int i = 0; i < peak->count; i++) {
        if (peak->list[i].is_wrong)
            return LAB_WRONG;
        any = any || !*peak->list[i].why_not;
    }
    return any ? LAB_GOOD : LAB_NOTHING;
}

static int measure(const lab_options *options, const lab_target *target)
{
    const rung_device_info *device = rung_device_describe(target->device);
    bool is_cpu = strcmp(device->backend, "cpu") == 0;
    int64_t threads = device->compute_units;
    lab_peak peak = {.count = 0};
    if (options->threads && !is_cpu)
        return lab_usage("peak", "--threads is the CPU's: say --device cpu");
    if (options->threads && (!lab_read_integer(options->threads, &threads) || threads < 1 || threads > THREADS_MAX))
        return lab_usage("peak", "--threads is a number from 1 to 256");
    lab_conditions before = lab_conditions_read(device);
    if (is_cpu)
        lab_peak_cpu(threads, &peak);
    else
        lab_peak_device(target->context, target->device, target->queue, &peak);
    lab_conditions after = lab_conditions_read(device);
    lab_warnings warnings = lab_conditions_judge(&before, &after, is_cpu ? threads : 1, sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < warnings.count; i++)
        fprintf(stderr, "rung: warning: %s\n", warnings.list[i]);
    if (options->json)
        print_json(device, &peak, &before, &after, &warnings);
    else
        print_table(device, &peak);
    return judge(&peak);
}

int lab_command_peak(const lab_options *options)
{
    lab_target target;
    int code = lab_target_open(options, NULL, &target);
    if (code == LAB_GOOD)
        code = measure(options, &target);
    lab_target_close(&target);
    return code;
}
