/* SPDX-License-Identifier: Apache-2.0 */
/* command_devices.c - rung devices: what each device tells of itself. */
#include "json.h"
#include "options.h"
#include "rung/rung.h"
#include "table.h"

#include <string.h>

/* 17179869184 B as 16 GiB, 1410000 kHz as 1.41 GHz. */
static void write_fact(int64_t value, const char *unit, char *text, size_t capacity)
{
    double scaled = (double)value;
    if (unit[0] == 'B' && unit[1] == '\0') {
        lab_write_bytes(scaled, text, capacity);
    } else if (value >= 1000000 && *unit) {
        snprintf(text, capacity, "%.4g G%s", scaled * (unit[0] == 'k' ? 1e-6 : 1e-9),
                 unit[0] == 'k' ? unit + 1 : unit);
    } else {
        snprintf(text, capacity, "%lld%s%s", (long long)value, *unit ? " " : "", unit);
    }
}

static void print_device(const rung_device_info *info)
{
    char value[64], untold[512] = "";
    if (*info->missing) {
        printf("%s\n  not here: %s\n\n", info->name, info->missing);
        return;
    }
    printf("%s\n  %-28s %s\n  %-28s %s, %s\n", info->name, "name", info->title, "driver",
           info->platform, info->driver);
#define X(field, words, unit)                                                           \
    if (info->field != 0) {                                                             \
        write_fact(info->field, unit, value, sizeof value);                             \
        printf("  %-28s %s\n", words, value);                                           \
    } else {                                                                            \
        size_t used = strlen(untold);                                                   \
        snprintf(untold + used, sizeof untold - used, "%s%s", used ? "; " : "", words); \
    }
    RUNG_DEVICE_FACT_LIST(X)
#undef X
    printf("  %-28s %s\n\n", "not told", untold);
}

static void print_json(const rung_device_info *infos, int64_t count)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-devices/1");
    lab_json_begin(&json, "devices", '[');
    for (int64_t i = 0; i < count; i++) {
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "name", infos[i].name);
        lab_json_string(&json, "backend", infos[i].backend);
        lab_json_true(&json, "present", !*infos[i].missing);
        lab_json_string(&json, "missing", infos[i].missing);
        lab_json_string(&json, "title", infos[i].title);
        lab_json_string(&json, "platform", infos[i].platform);
        lab_json_string(&json, "driver", infos[i].driver);
#define X(field, words, unit) lab_json_integer(&json, #field, infos[i].field);
        RUNG_DEVICE_FACT_LIST(X)
#undef X
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

int lab_command_devices(const lab_options *options)
{
    rung_device_info infos[64];
    int64_t count = 0, capacity = sizeof infos / sizeof *infos;
    if (rung_device_list(NULL, infos, capacity, &count) != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_NOTHING;
    }
    if (count > capacity)
        count = capacity;
    if (options->json) {
        print_json(infos, count);
        return LAB_GOOD;
    }
    for (int64_t i = 0; i < count; i++)
        print_device(&infos[i]);
    printf("Next: rung kernels, or: rung verify --device %s\n", infos[count - 1].missing[0]
           ? infos[0].name : infos[count - 1].name);
    return LAB_GOOD;
}
