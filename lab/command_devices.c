/* SPDX-License-Identifier: Apache-2.0 */
/* command_devices.c - rung devices: what each device tells of itself. */
#include "json.h"
#include "options.h"
#include "rung/rung.h"
#include "table.h"

#include <stddef.h>
#include <string.h>

/* The numbers of a device: where they are, their JSON key, label and unit. Keys and labels are the lab's own; they
 * stay when a field of rung.h gets another name. */
static const struct fact {
    size_t offset;
    const char *key, *label, *unit;
} facts[] = {
#define AT(field) offsetof(rung_device_info, field)
    {AT(compute_units), "compute_units", "compute units", ""},
    {AT(warp_size), "warp_size", "threads a warp", ""},
    {AT(max_threads_per_unit), "max_threads_unit", "threads a unit, at most", ""},
    {AT(max_threads_per_block), "max_threads_block", "threads a block, at most", ""},
    {AT(registers_per_block), "registers_block", "registers a block", ""},
    {AT(registers_per_unit), "registers_unit", "registers a unit", ""},
    {AT(shared_bytes_per_block), "shared_block", "shared memory a block", "B"},
    {AT(shared_bytes_per_unit), "shared_unit", "shared memory a unit", "B"},
    {AT(last_level_cache_bytes), "last_cache_bytes", "last cache", "B"},
    {AT(clock_khz), "clock_khz", "clock", "kHz"},
    {AT(memory_clock_khz), "memory_clock_khz", "memory clock", "kHz"},
    {AT(memory_bus_bits), "memory_bus_bits", "memory bus", "bit"},
    {AT(memory_bytes), "memory_bytes", "memory", "B"},
    {AT(max_buffer_bytes), "max_buffer_bytes", "largest buffer", "B"},
    {AT(memory_bytes_per_second), "bandwidth", "memory bandwidth, computed", "B/s"},
    {AT(peak_f32_flops_per_second), "peak_f32", "FP32 peak, computed", "FLOP/s"},
#undef AT
};

static int64_t value_of(const rung_device_info *info, const struct fact *fact)
{
    int64_t value;
    memcpy(&value, (const char *)info + fact->offset, sizeof value);
    return value;
}

/* 17179869184 B as 16 GiB, 1410000 kHz as 1.41 GHz. */
static void write_fact(int64_t value, const char *unit, char *text, size_t capacity)
{
    double scaled = (double)value;
    if (unit[0] == 'B' && unit[1] == '\0') {
        lab_write_bytes(scaled, text, capacity);
    } else if (value >= 1000000 && *unit) {
        snprintf(text, capacity, "%.4g G%s", scaled * (unit[0] == 'k' ? 1e-6 : 1e-9), unit[0] == 'k' ? unit + 1 : unit);
    } else {
        snprintf(text, capacity, "%lld%s%s", (long long)value, *unit ? " " : "", unit);
    }
}

static void print_device(const rung_device_info *info)
{
    char text[64], untold[512] = "";
    if (*info->missing) {
        printf("%s\n  not here: %s\n\n", info->name, info->missing);
        return;
    }
    printf("%s\n  %-28s %s\n  %-28s %s, %s\n", info->name, "name", info->title, "driver", info->platform, info->driver);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        int64_t value = value_of(info, &facts[i]);
        size_t used = strlen(untold);
        if (value == 0) {
            snprintf(untold + used, sizeof untold - used, "%s%s", used ? "; " : "", facts[i].label);
            continue;
        }
        write_fact(value, facts[i].unit, text, sizeof text);
        printf("  %-28s %s\n", facts[i].label, text);
    }
    printf("  %-28s %s\n\n", "not told", untold);
}

static void add_json(lab_json *json, const rung_device_info *info)
{
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "name", info->name);
    lab_json_string(json, "backend", info->backend);
    lab_json_true(json, "present", !*info->missing);
    lab_json_string(json, "missing", info->missing);
    lab_json_string(json, "title", info->title);
    lab_json_string(json, "platform", info->platform);
    lab_json_string(json, "driver", info->driver);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        lab_json_integer(json, facts[i].key, value_of(info, &facts[i]));
    lab_json_end(json, '}');
}

static void print_json(const rung_device_list *list)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-devices/1");
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
    if (rung_device_list_create(NULL, &list) != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_NOTHING;
    }
    if (options->json)
        print_json(list);
    else
        print_all(list);
    rung_device_list_destroy(list);
    return LAB_GOOD;
}
