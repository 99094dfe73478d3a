/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - the command rung kernels: lists the kernels, or shows one. */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/table.h"
#include "io/json_writer.h"
#include "rung/rung.h"
#include "target/target.h"

/* The backends, each once, in the order of the device list. */
enum { BACKENDS_MAX = 8 };

typedef struct backends {
    char names[BACKENDS_MAX][16];
    int count;
} backends_t;

/* Returns whether a device such as "opencl" or "opencl:1" has this backend. NULL has every backend. */
static bool device_has_backend(const char *device, const char *backend)
{
    size_t length = device ? strcspn(device, ":") : 0;
    return !device || (strlen(backend) == length && strncmp(device, backend, length) == 0);
}

static backends_t find_backends(const char *device)
{
    rung_device_list *list;
    backends_t found = {.count = 0};
    if (rung_device_list_create(NULL, &list) != RUNG_OK)
        return found;
    for (int64_t i = 0; i < rung_device_list_count(list) && found.count < BACKENDS_MAX; i++) {
        const char *backend = rung_device_list_at(list, i)->backend;
        if (device_has_backend(device, backend) &&
            (found.count == 0 || strcmp(found.names[found.count - 1], backend) != 0))
            snprintf(found.names[found.count++], sizeof found.names[0], "%s", backend);
    }
    rung_device_list_destroy(list);
    return found;
}

/* Writes all backends that run the same source, "opencl, cuda". Returns whether the backend of the kernel is the first
 * one, under which the kernel is shown. Vendor libraries are shown per backend. */
static bool write_backends(const backends_t *backends, const rung_kernel_info *info, char *text, size_t capacity)
{
    size_t used = 0;
    bool is_first = true;
    for (int i = 0; i < backends->count; i++) {
        rung_kernel *kernel;
        bool is_own = strcmp(backends->names[i], info->backend) == 0;
        if (!is_own &&
            (info->number == 0 || rung_kernel_find(NULL, backends->names[i], info->name, &kernel) != RUNG_OK ||
             strcmp(rung_kernel_describe(kernel)->source, info->source) != 0))
            continue;
        is_first = is_first && (used > 0 || is_own);
        used += (size_t)snprintf(text + used, used < capacity ? capacity - used : 0, "%s%s", used ? ", " : "",
                                 backends->names[i]);
    }
    return is_first;
}

static void write_parameter(const rung_parameter *parameter, char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "%s=%lld", parameter->name, (long long)parameter->value);
    for (int64_t i = 0; i < parameter->choice_count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%lld%s", i ? " " : " (",
                                 (long long)parameter->choices[i], i == parameter->choice_count - 1 ? ")" : "");
}

static const struct {
    unsigned bit;
    const char *words;
} ability_words[] = {
    {RUNG_ABILITY_BATCH_OFFSETS, "batches by offsets"},
    {RUNG_ABILITY_EPILOGUE, "epilogues"},
    {RUNG_ABILITY_SPLIT_K, "split k"},
    {RUNG_ABILITY_PACKED_B, "a packed B"},
};

/* Writes the types that need architecture `min_sm`; -1: all types. Returns the length. */
static size_t write_types(const rung_kernel *kernel, int min_sm, char *text, size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < lab_type_pair_count() && used < capacity; i++) {
        rung_type in = lab_type_pair_at(i).in, out = lab_type_pair_at(i).out;
        int needed;
        if (rung_kernel_supports(kernel, in, in, out, &needed) && (min_sm < 0 || needed == min_sm))
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? "," : "",
                                     lab_type_pair_name(lab_type_pair_at(i)));
    }
    return used;
}

/* Writes "f16,i8 from sm_75; bf16 from sm_80", or "". */
static void write_architectures(const rung_kernel *kernel, char *text, size_t capacity)
{
    enum { SM_MAX = 999 };
    size_t used = 0;
    *text = '\0';
    for (int min_sm = 1; min_sm < SM_MAX; min_sm++) {
        char types[128];
        if (write_types(kernel, min_sm, types, sizeof types) > 0 && used < capacity)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s from sm_%d", used ? "; " : "", types, min_sm);
    }
}

/* Writes what the kernel supports besides multiplies and strided batches. */
static void write_abilities(const rung_kernel_info *info, char *text, size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < sizeof ability_words / sizeof *ability_words; i++)
        if (info->abilities & ability_words[i].bit && used < capacity)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "", ability_words[i].words);
}

static void add_row(lab_table *table, const rung_kernel_info *info, const char *backends)
{
    lab_table_add(table, 4,
                  (const char *[]){backends, info->name, *info->defaults ? info->defaults : "-", info->summary});
}

static void add_json(lab_json *json, const rung_kernel *kernel)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char types[128], architectures[256], abilities[128];
    write_types(kernel, -1, types, sizeof types);
    write_architectures(kernel, architectures, sizeof architectures);
    write_abilities(info, abilities, sizeof abilities);
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", info->name);
    lab_json_integer(json, "number", info->number);
    lab_json_string(json, "backend", info->backend);
    lab_json_string(json, "summary", info->summary);
    lab_json_string(json, "file", info->file);
    lab_json_string(json, "dtypes", types);
    lab_json_string(json, "architectures", architectures);
    lab_json_string(json, "compute", rung_compute_name(info->compute));
    lab_json_string(json, "engine", rung_engine_name(info->engine));
    lab_json_string(json, "abilities", abilities);
    lab_json_begin(json, "params", '[');
    for (int64_t i = 0; i < info->parameter_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "name", rung_kernel_parameter(kernel, i)->name);
        lab_json_integer(json, "default", rung_kernel_parameter(kernel, i)->value);
        lab_json_begin(json, "choices", '[');
        for (int64_t j = 0; j < rung_kernel_parameter(kernel, i)->choice_count; j++)
            lab_json_integer(json, NULL, rung_kernel_parameter(kernel, i)->choices[j]);
        lab_json_end(json, ']');
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_json_begin(json, "presets", '[');
    for (int64_t i = 0; i < info->preset_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "name", rung_kernel_preset(kernel, i)->name);
        lab_json_string(json, "params", rung_kernel_preset(kernel, i)->parameters);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_json_begin(json, "constraints", '[');
    for (int64_t i = 0; i < info->constraint_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "refused_if", rung_kernel_constraint(kernel, i)->rejected_if);
        lab_json_string(json, "reason", rung_kernel_constraint(kernel, i)->reason);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_json_end(json, '}');
}

static void print_kernel(const rung_kernel *kernel, const char *backends)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char text[256];
    printf("%s on %s: %s\n", info->name, backends, info->summary);
    write_types(kernel, -1, text, sizeof text);
    printf("  types       %s\n", text);
    printf("  compute     %s\n", rung_compute_name(info->compute));
    write_architectures(kernel, text, sizeof text);
    if (info->engine != RUNG_ENGINE_NONE && strcmp(info->backend, "cpu") == 0)
        printf("  engine      %s\n", rung_engine_name(info->engine));
    else if (info->engine != RUNG_ENGINE_NONE)
        printf("  engine      %s; emulated in software elsewhere\n", text);
    write_abilities(info, text, sizeof text);
    printf("  supports    %s\n", *text ? text : "-");
    for (int64_t i = 0; i < info->parameter_count; i++) {
        write_parameter(rung_kernel_parameter(kernel, i), text, sizeof text);
        printf("  %-11s %s\n", i ? "" : "parameters", text);
    }
    for (int64_t i = 0; i < info->preset_count; i++)
        printf("  %-11s %s: %s\n", i ? "" : "presets", rung_kernel_preset(kernel, i)->name,
               rung_kernel_preset(kernel, i)->parameters);
    for (int64_t i = 0; i < info->constraint_count; i++)
        printf("  %-11s %s: %s\n", i ? "" : "rejected if", rung_kernel_constraint(kernel, i)->rejected_if,
               rung_kernel_constraint(kernel, i)->reason);
    printf("\n");
}

/* Shows the kernels of one backend, or the named kernel. Returns the number of kernels. */
static int64_t show_backend(const backends_t *backends, int index, const lab_options *options, lab_json *json,
                            lab_table *table)
{
    rung_kernel *kernel;
    const char *backend = backends->names[index];
    char all[64] = "";
    int64_t shown = 0;
    if (options->argument) {
        if (rung_kernel_find(NULL, backend, options->argument, &kernel) != RUNG_OK)
            return 0;
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        bool is_first = write_backends(backends, info, all, sizeof all);
        if (options->json)
            add_json(json, kernel);
        else if (is_first)
            print_kernel(kernel, all);
        return 1;
    }
    for (; rung_kernel_at(NULL, backend, shown, &kernel) == RUNG_OK; shown++) {
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        if (options->json)
            add_json(json, kernel);
        else if (write_backends(backends, info, all, sizeof all))
            add_row(table, info, all);
    }
    return shown;
}

/* Prints the source of a kernel: the file for GPUs, unless --device names the CPU or only the CPU has the kernel.
 * Returns whether the kernel exists. */
static bool print_source(const backends_t *backends, const char *name)
{
    rung_kernel *kernel, *found = NULL;
    for (int i = 0; i < backends->count; i++)
        if (rung_kernel_find(NULL, backends->names[i], name, &kernel) == RUNG_OK &&
            (!found || strcmp(rung_kernel_describe(found)->backend, "cpu") == 0))
            found = kernel;
    if (found)
        fputs(rung_kernel_describe(found)->source, stdout);
    return found != NULL;
}

/* Reports an unknown backend or kernel. */
static int report_nothing_found(const backends_t *backends, const lab_options *options)
{
    char error[1024];
    snprintf(error, sizeof error, "%s", rung_error_text());
    if (backends->count == 0) {
        snprintf(error, sizeof error, "unknown device \"%s\"", options->device ? options->device : "");
        lab_append_device_suggestion(options->device ? options->device : "", error, sizeof error);
    } else if (options->argument) {
        lab_append_kernel_suggestion(NULL, backends->names[backends->count - 1], options->argument, error,
                                     sizeof error);
    }
    fprintf(stderr, "rung kernels: %s. Run \"rung %s\" for all of them.\n", error,
            backends->count == 0 ? "devices" : "kernels");
    return LAB_EXIT_USAGE;
}

int lab_command_kernels(const lab_options *options)
{
    const backends_t backends = find_backends(options->device);
    int64_t shown = 0;
    lab_json json = {.out = stdout};
    if (options->source && !options->argument) {
        fprintf(stderr, "rung kernels: --source needs a kernel. Example: rung kernels 04 --source\n");
        return LAB_EXIT_USAGE;
    }
    if (options->source && !options->json)
        return print_source(&backends, options->argument) ? LAB_EXIT_SUCCESS : report_nothing_found(&backends, options);
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return LAB_EXIT_UNAVAILABLE;
    if (options->json) {
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "schema", "rung-kernels/1");
        lab_json_begin(&json, "kernels", '[');
    } else if (!options->argument) {
        lab_table_add(table, 4, (const char *[]){"backend", "kernel", "parameters", "idea"});
    }
    for (int i = 0; i < backends.count; i++)
        shown += show_backend(&backends, i, options, &json, table);
    if (options->json) {
        lab_json_end(&json, ']');
        lab_json_end(&json, '}');
    } else if (!options->argument && shown > 0) {
        lab_table_print(table, "llll", stdout);
    }
    free(table);
    if (shown == 0)
        return report_nothing_found(&backends, options);
    return LAB_EXIT_SUCCESS;
}
