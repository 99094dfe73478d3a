/* SPDX-License-Identifier: Apache-2.0 */
/* run_info.c - see run_info.h. */
#include "io/run_info.h"

#include "common/lab_clock.h"

void lab_run_info_print(lab_json *json, const rung_device_info *device)
{
    rung_device_list *list = NULL;
    double load = 0;
    char when[32];
    lab_format_utc_time("%Y-%m-%dT%H:%M:%SZ", when, sizeof when);
    FILE *file = fopen("/proc/loadavg", "re");
    if (file) {
        if (fscanf(file, "%lf", &load) != 1)
            load = 0;
        fclose(file);
    }
    rung_device_list_create(NULL, &list);
    const rung_device_info *processor = rung_device_list_at(list, 0);
    lab_json_begin(json, "machine", '{');
    LAB_JSON_STRINGS(json, {"device", device->name}, {"title", device->title}, {"platform", device->platform},
                     {"driver", device->driver});
    lab_json_integer(json, "compute_units", device->compute_units);
    LAB_JSON_STRINGS(json, {"processor", processor ? processor->title : ""}, {"version", rung_version_text()},
                     {"compiler", __VERSION__}, {"time", when});
    lab_json_number(json, "load", load);
    lab_json_end(json, '}');
    rung_device_list_destroy(list);
}
