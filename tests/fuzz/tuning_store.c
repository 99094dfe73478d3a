/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_store.c - any bytes as a tuning store, for libFuzzer and for a corpus.
 *
 * The bytes become the records of a context, and plans are made with them for several problems
 * on a device that takes whatever it is given: so what stops a record that nobody should run is
 * the library's choice alone. Each plan's kernel must be one of the ladder that may be taken
 * unasked, and its parameters must be ones that kernel takes and lists or nearly so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan.h"
#include "core/choose/tuning_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                         \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "line %d: not %s (%s)\n", __LINE__, #condition, rung_error_text()); \
            abort();                                                                            \
        }                                                                                       \
    } while (0)

/* ---- A device that takes everything ---------------------------------------------------------- */

static rung_status take_plan(rung_plan *plan)
{
    (void)plan;
    return RUNG_OK;
}

static void destroy_plan_data(rung_plan *plan)
{
    (void)plan;
}

static const rungi_device_ops ops = {.plan_create = take_plan, .plan_destroy = destroy_plan_data};

static void make_device(rung_device *device, rung_context *context, const char *backend)
{
    int index = rungi_backend_index(backend);
    MUST(index >= 0);
    rungi_device_init(device, context, rungi_backends[index], &ops);
    device->info.name = backend;
    device->info.title = "a device";
    device->info.platform = "fuzz";
    device->info.driver = "1";
    device->info.compute_units = 16;
}

/* ---- What must be so ----------------------------------------------------------------------- */

/* From half the smallest to twice the largest value that the kernel's file has; counted here once
 * more, in another way. */
static bool is_listed(const rung_kernel *kernel, const rungi_parameter_values *values)
{
    const rung_kernel_info *facts = rung_kernel_describe(kernel);
    for (int64_t i = 0; i < facts->parameter_count; i++) {
        const rung_parameter *parameter = rung_kernel_parameter(kernel, i);
        char assignment[64];
        bool above = 2 * values->value[i] >= parameter->value, below = values->value[i] <= 2 * parameter->value;
        for (int64_t j = 0; j < parameter->choice_count; j++) {
            above = above || 2 * values->value[i] >= parameter->choices[j];
            below = below || values->value[i] <= 2 * parameter->choices[j];
        }
        snprintf(assignment, sizeof assignment, "%s=", parameter->name);
        for (int64_t j = 0; j < facts->preset_count; j++) {
            const char *word = strstr(rung_kernel_preset(kernel, j)->parameters, assignment);
            int64_t value = word ? strtoll(word + strlen(assignment), NULL, 10) : parameter->value;
            above = above || 2 * values->value[i] >= value;
            below = below || values->value[i] <= 2 * value;
        }
        if (!above || !below)
            return false;
    }
    return true;
}

static void check_plan(rung_device *device, rung_type type, int64_t m, int64_t n, int64_t k)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(type, m, k, NULL), rung_matrix_of(type, k, n, NULL),
                                           rung_matrix_of(type, m, n, NULL));
    rungi_tuning_proposal proposals[RUNGI_TUNING_PROPOSALS_MAX];
    rungi_parameter_values values;
    rung_kernel *kernel;
    rung_plan *plan;
    int count;
    MUST(rungi_tuning_store_find(device, &problem, proposals, &count) == RUNG_OK);
    if (count == 0)
        return; /* what the library takes without records is for other tests */
    MUST(rung_plan_create(device, &problem, NULL, &plan) == RUNG_OK);
    const rung_plan_info *info = rung_plan_describe(plan);
    MUST(rung_kernel_find(device->context, device->backend->name, info->kernel, &kernel) == RUNG_OK);
    const rung_kernel_info *facts = rung_kernel_describe(kernel);
    MUST(strcmp(facts->name, info->kernel) == 0);
    MUST(facts->number > 0 && facts->engine != RUNG_ENGINE_EMULATED);
    MUST(rung_kernel_supports(kernel, type, type, type, NULL));
    MUST(rungi_kernel_parse_parameters(kernel, info->parameters, rung_type_size(type), &values) == RUNG_OK);
    MUST(is_listed(kernel, &values));
    MUST(strlen(info->origin_text) > 0);
    rung_plan_destroy(plan);
}

/* Whatever a device calls itself, its record is one line that is read again as it was. */
static void check_title(rung_device *device, const uint8_t *data, size_t size)
{
    rung_matrix square = rung_matrix_of(RUNG_F32, 64, 64, NULL);
    rung_problem problem = rung_problem_of(square, square, square);
    char title[256] = "", line[RUNGI_TUNING_LINE_BYTES];
    rungi_tuning_key key;
    rungi_tuning_record record;
    const char *before = device->info.title;
    memcpy(title, data, size < sizeof title ? size : sizeof title - 1);
    device->info.title = title;
    rungi_tuning_key_of(device, &problem, &key);
    size_t length = rungi_tuning_record_format(&key, "07_tile2d", "BM=64", 12345, line);
    MUST(length > 0 && memchr(line, '\n', length) == line + length - 1);
    MUST(rungi_tuning_record_parse(line, length - 1, &record) == NULL);
    MUST(rungi_string_view_equals(record.key, key.text));
    MUST(record.mflops == 12345);
    device->info.title = before;
}

static void check_records(const rungi_tuning_records *records)
{
    for (int64_t i = 0; i < records->count; i++) {
        rungi_tuning_record again;
        const rungi_tuning_record *record = &records->records[i];
        MUST(record->line.text >= records->text);
        MUST(record->line.text + record->line.length < records->text + records->bytes);
        MUST(record->line.text[record->line.length] == '\n');
        MUST(rungi_tuning_record_parse(record->line.text, record->line.length, &again) == NULL);
        MUST(record->kernel.length < RUNGI_TUNING_KERNEL_NAME_BYTES &&
             record->parameters.length < RUNG_PARAMETERS_BYTES);
    }
}

static void set_records(rung_context *context, const uint8_t *data, size_t size)
{
    char *text = rungi_allocate(context, (int64_t)size, 1);
    MUST(text);
    if (size > 0)
        memcpy(text, data, size);
    MUST(rungi_tuning_records_parse(context, "fuzz", text, (int64_t)size, &context->tuning_records) == RUNG_OK);
    context->is_tuning_loaded = true;
    check_records(context->tuning_records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rung_context *context;
    static rung_device simt, cpu;
    if (!context) {
        rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
        MUST(rung_context_create(&options, &context) == RUNG_OK);
        make_device(&simt, context, "cuda");
        make_device(&cpu, context, "cpu");
    }
    if (size > RUNGI_TUNING_FILE_BYTES_MAX)
        return 0;
    set_records(context, data, size);
    check_plan(&simt, RUNG_F32, 64, 64, 64);
    check_plan(&simt, RUNG_F32, 1000, 30, 5000);
    check_plan(&simt, RUNG_F16, 1024, 1024, 1024);
    check_plan(&simt, RUNG_F64, 7, 4097, 16);
    check_plan(&cpu, RUNG_F32, 64, 64, 64);
    check_title(&simt, data, size);
    rungi_tuning_records_free(context, context->tuning_records);
    context->tuning_records = NULL;
    return 0;
}
