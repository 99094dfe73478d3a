/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - rung peak: measures the upper bounds of a device. lab/bench does the work. */
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "target/target.h"

static int measure(const lab_options *options, const lab_target *target)
{
    const rung_device_info *device = rung_device_describe(target->device);
    bool is_cpu = strcmp(device->backend, "cpu") == 0;
    int64_t threads = device->compute_units;
    lab_peak peak = {.count = 0};
    if (options->threads && !is_cpu)
        return lab_usage_error("peak", "--threads requires --device cpu");
    if (options->threads &&
        (!lab_parse_integer(options->threads, &threads) || threads < 1 || threads > LAB_THREADS_MAX))
        return lab_usage_error("peak", "--threads must be an integer from 1 to 256");
    lab_conditions before = lab_conditions_read(device);
    if (is_cpu)
        lab_peak_measure_cpu(threads, &peak);
    else
        lab_peak_measure_device(target->context, target->device, target->queue, &peak);
    lab_conditions after = lab_conditions_read(device);
    lab_warnings warnings = lab_conditions_warnings(&before, &after, is_cpu ? threads : 1,
                                                    sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < warnings.count; i++)
        fprintf(stderr, "rung: warning: %s\n", warnings.list[i]);
    if (options->json)
        lab_peak_print_json(device, &peak, &before, &after, &warnings);
    else
        lab_peak_print_table(device, &peak);
    return lab_peak_exit_code(&peak);
}

int lab_command_peak(const lab_options *options)
{
    lab_target target;
    int code = lab_target_open(options, NULL, &target);
    if (code == LAB_EXIT_SUCCESS)
        code = measure(options, &target);
    lab_target_close(&target);
    return code;
}
