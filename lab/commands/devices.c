/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - the command rung devices: lists the devices and their properties. */
#include <stddef.h>
#include <string.h>

#include "cli/table.h"
#include "io/json_writer.h"
#include "target/target.h"

/* The numeric properties of a device: field, JSON key, label and unit. The keys stay the same if a field of rung.h is
 * renamed. */
static const struct device_property {
    size_t offset;
    const char *key, *label, *unit;
} properties[] = {
#define AT(field) offsetof(rung_device_info, field)
    {AT(compute_units), "compute_units", "compute units", ""},
    {AT(warp_size), "warp_size", "threads per warp", ""},
    {AT(max_threads_per_unit), "max_threads_unit", "max. threads per unit", ""},
    {AT(max_threads_per_block), "max_threads_block", "max. threads per block", ""},
    {AT(registers_per_block), "registers_block", "registers per block", ""},
    {AT(registers_per_unit), "registers_unit", "registers per unit", ""},
    {AT(shared_bytes_per_block), "shared_block", "shared memory per block", "B"},
    {AT(shared_bytes_per_unit), "shared_unit", "shared memory per unit", "B"},
    {AT(last_level_cache_bytes), "last_cache_bytes", "last-level cache", "B"},
    {AT(clock_khz), "clock_khz", "clock", "kHz"},
    {AT(memory_clock_khz), "memory_clock_khz", "memory clock", "kHz"},
    {AT(memory_bus_bits), "memory_bus_bits", "memory bus", "bit"},
    {AT(memory_bytes), "memory_bytes", "memory", "B"},
    {AT(max_buffer_bytes), "max_buffer_bytes", "largest buffer", "B"},
    {AT(memory_bytes_per_second), "bandwidth", "memory bandwidth (computed)", "B/s"},
    {AT(peak_f32_flops_per_second), "peak_f32", "FP32 peak (computed)", "FLOP/s"},
#undef AT
};

static int64_t value_of(const rung_device_info *info, const struct device_property *property)
{
    int64_t value;
    memcpy(&value, (const char *)info + property->offset, sizeof value);
    return value;
}

/* Formats 17179869184 B as 16 GiB and 1410000 kHz as 1.41 GHz. */
static void format_property(int64_t value, const char *unit, char *text, size_t capacity)
{
    double scaled = (double)value;
    if (unit[0] == 'B' && unit[1] == '\0') {
        lab_format_bytes(scaled, text, capacity);
    } else if (value >= 1000000 && *unit) {
        snprintf(text, capacity, "%.4g G%s", scaled * (unit[0] == 'k' ? 1e-6 : 1e-9), unit[0] == 'k' ? unit + 1 : unit);
    } else {
        snprintf(text, capacity, "%lld%s%s", (long long)value, *unit ? " " : "", unit);
    }
}

static void print_device(const rung_device_info *info)
{
    char text[64], unknown[512] = "";
    if (*info->missing) {
        printf("%s\n  not available: %s\n\n", info->name, info->missing);
        return;
    }
    printf("%s\n  %-28s %s\n  %-28s %s, %s\n", info->name, "name", info->title, "driver", info->platform, info->driver);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        int64_t value = value_of(info, &properties[i]);
        if (value == 0) {
            lab_append(unknown, sizeof unknown, "%s%s", *unknown ? "; " : "", properties[i].label);
            continue;
        }
        format_property(value, properties[i].unit, text, sizeof text);
        printf("  %-28s %s\n", properties[i].label, text);
    }
    printf("  %-28s %s\n\n", "not reported", unknown);
}

static void add_json(lab_json *json, const rung_device_info *info)
{
    lab_json_begin(json, NULL, '{');
    LAB_JSON_STRINGS(json, {"name", info->name}, {"backend", info->backend});
    lab_json_boolean(json, "present", !*info->missing);
    LAB_JSON_STRINGS(json, {"missing", info->missing}, {"title", info->title}, {"platform", info->platform},
                     {"driver", info->driver});
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        lab_json_integer(json, properties[i].key, value_of(info, &properties[i]));
    lab_json_end(json, '}');
}

static void print_json(const rung_device_list *list)
{
    lab_json json = lab_json_open(stdout, "rung-devices/1");
    lab_json_begin(&json, "devices", '[');
    for (int64_t i = 0; i < rung_device_list_count(list); i++)
        add_json(&json, rung_device_list_at(list, i));
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

static void print_all(const rung_device_list *list)
{
    int64_t count = rung_device_list_count(list);
    for (int64_t i = 0; i < count; i++)
        print_device(rung_device_list_at(list, i));
    const rung_device_info *last = rung_device_list_at(list, count - 1);
    printf("Next: rung kernels, or: rung verify --device %s\n",
           *last->missing ? rung_device_list_at(list, 0)->name : last->name);
}

int lab_command_devices(const lab_options *options)
{
    rung_device_list *list;
    if (rung_device_list_create(NULL, &list) != RUNG_OK)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "%s", rung_error_text());
    (options->json ? print_json : print_all)(list);
    rung_device_list_destroy(list);
    return LAB_EXIT_SUCCESS;
}
