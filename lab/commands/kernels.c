/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - the command rung kernels: lists the kernels, or shows one. */
#include <string.h>

#include "cli/table.h"
#include "io/json_writer.h"
#include "target/target.h"

/* Returns whether the kernel multiplies any types on its backend. OpenCL has no emulation of some instructions. */
static bool has_types(const rung_kernel *kernel)
{
    for (int i = 0; i < lab_type_pair_total(); i++) {
        lab_type_pair pair = lab_type_pair_at(i);
        if (rung_kernel_supports(kernel, pair.in, lab_type_pair_b(pair), pair.out, NULL))
            return true;
    }
    return false;
}

/* Why the output lacks a kernel or a backend that exists, or "". */
static char failure[1024];

/* Returns whether the backend has the kernel. Without memory it is not known, and the command fails at its end. */
static bool find_kernel(const char *backend, const char *name, rung_kernel **kernel)
{
    rung_status status = rung_kernel_find(NULL, backend, name, kernel);
    if (status == RUNG_STATUS_NO_MEMORY && !*failure)
        snprintf(failure, sizeof failure, "%s", rung_error_text());
    return status == RUNG_OK;
}

/* Writes all backends that run the same source, "opencl, cuda". Returns whether the backend of the kernel is the first
 * one, under which the kernel is shown. Vendor libraries are shown per backend. */
static bool write_backends(const lab_backends *backends, const rung_kernel_info *info, char *text, size_t capacity)
{
    bool is_first = true;
    *text = '\0';
    for (int i = 0; i < backends->count; i++) {
        rung_kernel *kernel;
        bool is_own = strcmp(backends->names[i], info->backend) == 0;
        if (!is_own && (info->number == 0 || !find_kernel(backends->names[i], info->name, &kernel) ||
                        strcmp(rung_kernel_describe(kernel)->source, info->source) != 0))
            continue;
        if (backends->count > 1 && info->number > 0 && find_kernel(backends->names[i], info->name, &kernel) &&
            !has_types(kernel))
            continue;
        is_first = is_first && (*text || is_own);
        lab_append(text, capacity, "%s%s", *text ? ", " : "", backends->names[i]);
    }
    return is_first;
}

static void write_parameter(const rung_parameter *parameter, char *text, size_t capacity)
{
    snprintf(text, capacity, "%s=%lld", parameter->name, (long long)parameter->value);
    for (int64_t i = 0; i < parameter->choice_count; i++)
        lab_append(text, capacity, "%s%lld%s", i ? " " : " (", (long long)parameter->choices[i],
                   i == parameter->choice_count - 1 ? ")" : "");
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

enum { TYPES_BYTES = 4096 }; /* of the names of all types */

/* Writes the types that need architecture `min_sm`; -1: all types. */
static void write_types(const rung_kernel *kernel, int min_sm, char *text, size_t capacity)
{
    *text = '\0';
    for (int i = 0; i < lab_type_pair_total(); i++) {
        lab_type_pair pair = lab_type_pair_at(i);
        int needed;
        if (rung_kernel_supports(kernel, pair.in, lab_type_pair_b(pair), pair.out, &needed) &&
            (min_sm < 0 || needed == min_sm))
            lab_append(text, capacity, "%s%s", *text ? "," : "", lab_type_pair_name(pair));
    }
}

/* Writes "f16,i8 from sm_75; bf16 from sm_80", "f16 on sm_90 only", or "". */
static void write_architectures(const rung_kernel *kernel, char *text, size_t capacity)
{
    enum { SM_MAX = 999 };
    bool only_sm = rung_kernel_describe(kernel)->only_sm > 0;
    *text = '\0';
    for (int min_sm = 1; min_sm < SM_MAX; min_sm++) {
        char types[TYPES_BYTES];
        write_types(kernel, min_sm, types, sizeof types);
        if (*types)
            lab_append(text, capacity, only_sm ? "%s%s on sm_%d only" : "%s%s from sm_%d", *text ? "; " : "", types,
                       min_sm);
    }
}

/* Writes what the kernel supports besides multiplies and strided batches. */
static void write_abilities(const rung_kernel_info *info, char *text, size_t capacity)
{
    *text = '\0';
    for (size_t i = 0; i < sizeof ability_words / sizeof *ability_words; i++)
        if (info->abilities & ability_words[i].bit)
            lab_append(text, capacity, "%s%s", *text ? ", " : "", ability_words[i].words);
}

static void add_json(lab_json *json, const rung_kernel *kernel)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char types[TYPES_BYTES], architectures[TYPES_BYTES], abilities[128];
    write_types(kernel, -1, types, sizeof types);
    write_architectures(kernel, architectures, sizeof architectures);
    write_abilities(info, abilities, sizeof abilities);
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", info->name);
    lab_json_integer(json, "number", info->number);
    LAB_JSON_STRINGS(json, {"backend", info->backend}, {"summary", info->summary}, {"file", info->file},
                     {"dtypes", types}, {"architectures", architectures}, {"compute", rung_compute_name(info->compute)},
                     {"engine", rung_engine_name(info->engine)}, {"abilities", abilities});
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
        LAB_JSON_STRINGS(json, {"name", rung_kernel_preset(kernel, i)->name},
                         {"params", rung_kernel_preset(kernel, i)->parameters});
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_json_begin(json, "constraints", '[');
    for (int64_t i = 0; i < info->constraint_count; i++) {
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"refused_if", rung_kernel_constraint(kernel, i)->rejected_if},
                         {"reason", rung_kernel_constraint(kernel, i)->reason});
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_json_end(json, '}');
}

/* Returns whether OpenCL devices emulate the kernel's matrix instructions. */
static bool is_emulated(const rung_kernel_info *info)
{
    rung_kernel *kernel;
    return info->only_sm == 0 && find_kernel("opencl", info->name, &kernel) && has_types(kernel);
}

/* Prints names of types, which commas separate, and what follows them, in lines as wide as the terminal. */
static void print_types(const char *label, const char *types)
{
    enum { COLUMN = 14 };
    char text[2 * TYPES_BYTES];
    size_t used = 0;
    for (const char *c = types; *c && used + 2 < sizeof text; c++) {
        text[used++] = *c;
        if (*c == ',' && c[1] != ' ')
            text[used++] = ' ';
    }
    text[used] = '\0';
    printf("  %-11s ", label);
    lab_text_wrap(text, COLUMN, COLUMN, lab_terminal_width(stdout), stdout);
}

/* Prints the architectures with an engine for `types`, all types of the kernel. */
static void print_architectures(const rung_kernel *kernel, const char *types)
{
    char text[TYPES_BYTES], line[TYPES_BYTES + 64];
    size_t length = strlen(types);
    write_architectures(kernel, text, sizeof text);
    bool is_for_all = strncmp(text, types, length) == 0 && text[length] == ' ';
    snprintf(line, sizeof line, "%s%s%s", is_for_all ? "all types" : "", text + (is_for_all ? length : 0),
             is_emulated(rung_kernel_describe(kernel)) ? "; emulated in software elsewhere" : "");
    print_types("engine", line);
}

static void print_kernel(const rung_kernel *kernel, const char *backends)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char text[TYPES_BYTES];
    printf("%s on %s: %s\n", info->name, backends, info->summary);
    write_types(kernel, -1, text, sizeof text);
    print_types("types", text);
    printf("  compute     %s\n", rung_compute_name(info->compute));
    if (info->engine != RUNG_ENGINE_NONE && strcmp(info->backend, "cpu") == 0)
        printf("  engine      %s\n", rung_engine_name(info->engine));
    else if (info->engine != RUNG_ENGINE_NONE)
        print_architectures(kernel, text);
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

static void show_kernel(const lab_backends *backends, const rung_kernel *kernel, const lab_options *options,
                        lab_json *json, lab_table *table)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char all[64];
    bool is_first = write_backends(backends, info, all, sizeof all);
    if (options->json)
        add_json(json, kernel);
    else if (is_first && options->argument)
        print_kernel(kernel, all);
    else if (is_first)
        lab_table_add(table, 4,
                      (const char *[]){all, info->name, *info->defaults ? info->defaults : "-", info->summary});
}

/* Shows the kernels of one backend, or the named kernel. Returns the number of kernels; -1 if they cannot be read. */
static int64_t show_backend(const lab_backends *backends, int index, const lab_options *options, lab_json *json,
                            lab_table *table)
{
    rung_kernel *kernel;
    const char *backend = backends->names[index];
    int64_t shown = 0;
    if (options->argument) {
        if (!find_kernel(backend, options->argument, &kernel))
            return 0;
        show_kernel(backends, kernel, options, json, table);
        return 1;
    }
    rung_status status;
    for (; (status = rung_kernel_at(NULL, backend, shown, &kernel)) == RUNG_OK; shown++)
        show_kernel(backends, kernel, options, json, table);
    return status == RUNG_STATUS_NOT_FOUND ? shown : -1;
}

/* Prints the source of a kernel: the file for GPUs, unless --device names the CPU or only the CPU has the kernel.
 * Returns whether the kernel exists. */
static bool print_source(const lab_backends *backends, const char *name)
{
    rung_kernel *kernel, *found = NULL;
    for (int i = 0; i < backends->count; i++)
        if (find_kernel(backends->names[i], name, &kernel) &&
            (!found || strcmp(rung_kernel_describe(found)->backend, "cpu") == 0))
            found = kernel;
    if (found)
        fputs(rung_kernel_describe(found)->source, stdout);
    return found != NULL;
}

/* Reports an unknown backend or kernel. */
static int report_nothing_found(const lab_backends *backends, const lab_options *options)
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

static int show_source(const lab_backends *backends, const lab_options *options)
{
    bool is_shown = print_source(backends, options->argument);
    if (*failure)
        return lab_fail(LAB_EXIT_USAGE, "%s", failure);
    return is_shown ? LAB_EXIT_SUCCESS : report_nothing_found(backends, options);
}

int lab_command_kernels(const lab_options *options)
{
    const lab_backends backends = lab_backends_find(options->device);
    int64_t shown = 0;
    lab_json json = {.out = NULL};
    if (options->source && !options->argument) {
        fprintf(stderr, "rung kernels: --source needs a kernel. Example: rung kernels 04 --source\n");
        return LAB_EXIT_USAGE;
    }
    if (backends.status != RUNG_OK)
        return lab_fail(LAB_EXIT_USAGE, "%s", rung_error_text());
    if (options->source && !options->json)
        return show_source(&backends, options);
    static lab_table table;
    if (options->json) {
        json = lab_json_open(stdout, "rung-kernels/1");
        lab_json_begin(&json, "kernels", '[');
    } else if (!options->argument) {
        lab_table_add(&table, 4, (const char *[]){"backend", "kernel", "parameters", "idea"});
    }
    for (int i = 0; i < backends.count; i++) {
        int64_t added = show_backend(&backends, i, options, &json, &table);
        if (added < 0)
            return lab_fail(LAB_EXIT_USAGE, "%s", rung_error_text());
        shown += added;
    }
    if (*failure)
        return lab_fail(LAB_EXIT_USAGE, "%s", failure);
    if (options->json) {
        lab_json_end(&json, ']');
        lab_json_end(&json, '}');
    } else if (!options->argument && shown > 0) {
        lab_table_print(&table, "llll", stdout);
    }
    return shown > 0 ? LAB_EXIT_SUCCESS : report_nothing_found(&backends, options);
}
