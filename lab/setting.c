/* SPDX-License-Identifier: Apache-2.0 */
/* setting.c - see setting.h. */
#include "setting.h"

#include <time.h>

void lab_setting_print(lab_json *json, const rung_device_info *device)
{
    rung_device_list *list = NULL;
    double load[3] = {0};
    char when[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    FILE *file = fopen("/proc/loadavg", "re");
    if (file) {
        if (fscanf(file, "%lf %lf %lf", &load[0], &load[1], &load[2]) != 3)
            load[0] = 0;
        fclose(file);
    }
    rung_device_list_create(NULL, &list);
    const rung_device_info *processor = rung_device_list_at(list, 0);
    lab_json_begin(json, "machine", '{');
    lab_json_string(json, "device", device->name);
    lab_json_string(json, "title", device->title);
    lab_json_string(json, "platform", device->platform);
    lab_json_string(json, "driver", device->driver);
    lab_json_integer(json, "compute_units", device->compute_units);
    lab_json_string(json, "processor", processor ? processor->title : "");
    lab_json_string(json, "version", rung_version_text());
    lab_json_string(json, "compiler", __VERSION__);
    lab_json_string(json, "time", when);
    lab_json_number(json, "load", load[0]);
    lab_json_end(json, '}');
    rung_device_list_destroy(list);
}
