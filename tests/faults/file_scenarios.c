/* SPDX-License-Identifier: Apache-2.0 */
/* file_scenarios.c - files that the libraries write and read: tuning records, weights, matrices larger than memory; and kernels on the
 * emulator. */
#include "fault_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/try.h"
#include "rung/emulator.h"
#include "rung/outofcore.h"
#include "rung/weights.h"

static rung_context *context;
static rung_device *device;

static rung_status open_device(void)
{
    rung_context_options options = rung_context_options_default();
    options.device = "cpu";
    options.threads = 1;
    options.verbose = -1;
    if (!context)
        TRY(rung_context_create(&options, &context));
    return device ? RUNG_OK : rung_device_open(context, "cpu", &device);
}

static void close_device(void)
{
    rung_device_close(device);
    rung_context_destroy(context);
    device = NULL, context = NULL;
    unsetenv("RUNG_TUNING");
}

static rung_problem problem_of_operands(void)
{
    return rung_problem_of(fault_matrix_a(), fault_matrix_b(), fault_matrix_c());
}

static rung_status multiply(void)
{
    return rung_gemm(context, 1, fault_matrix_a(), fault_matrix_b(), 0, fault_matrix_c());
}

/* ---- Tuning records -------------------------------------------------------------------------------------------------- */

/* Saves and merges a record, multiplies in a context that reads it, and removes it. */
static rung_status run_tuning(void)
{
    rung_problem problem = problem_of_operands();
    rung_tuning tuning = rung_tuning_default();
    int64_t count;
    setenv("RUNG_TUNING", fault_path("merged"), 1);
    TRY(open_device());
    tuning.kernel = "01_naive";
    tuning.parameters = "";
    tuning.gflops = 5;
    TRY(rung_tuning_save(device, &problem, &tuning, fault_path("tuning")));
    TRY(rung_tuning_merge(context, fault_path("tuning"), fault_path("merged"), &count));
    TRY(multiply());
    return rung_tuning_remove(device, &problem, fault_path("merged"), &count);
}

static int stop_at_three(void *user, const rung_tune_progress *progress)
{
    (void)user;
    return progress->tried >= 3;
}

static rung_status run_tune(void)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 16, 16, NULL),
                                           rung_matrix_of(RUNG_F32, 16, 16, NULL),
                                           rung_matrix_of(RUNG_F32, 16, 16, NULL));
    rung_tune_options options = rung_tune_options_default();
    rung_tune_report *report;
    TRY(open_device());
    options.seconds = 600;
    options.path = fault_path("tuning");
    options.progress = stop_at_three;
    TRY(rung_tune(device, &problem, &options, &report));
    rung_tune_report_destroy(report);
    return multiply();
}

/* ---- Weights --------------------------------------------------------------------------------------------------------- */

static rung_status write_weights(rung_weights_writer *writer)
{
    const int64_t dimensions[] = {FAULT_K, FAULT_N};
    TRY(rung_weights_writer_add(writer, "b", RUNG_F32, 2, dimensions));
    TRY(rung_weights_writer_write(writer, fault_b, 100));
    TRY(rung_weights_writer_write(writer, (const char *)fault_b + 100, sizeof fault_b - 100));
    return rung_weights_writer_commit(writer);
}

static rung_status multiply_weights(const rung_weights *weights)
{
    const rung_weights_tensor *tensor = rung_weights_find(weights, "b");
    if (!tensor)
        return rung_error_set(RUNG_STATUS_NOT_FOUND, "the tensor is missing");
    return rung_gemm(context, 1, fault_matrix_a(), tensor->view, 0, fault_matrix_c());
}

static rung_status run_weights(void)
{
    rung_weights_writer *writer;
    rung_weights *weights;
    TRY(open_device());
    TRY(rung_weights_writer_create(fault_path("weights.gguf"), &writer));
    rung_status status = write_weights(writer);
    rung_weights_writer_destroy(writer);
    TRY(status);
    TRY(rung_weights_open(fault_path("weights.gguf"), &weights));
    status = multiply_weights(weights);
    rung_weights_close(weights);
    return status;
}

/* ---- Matrices larger than memory ------------------------------------------------------------------------------------- */

/* Writes a file without a header, once: a multiplication that is resumed refuses inputs that have changed. These calls are the
 * test's, and do not fail. */
static void write_raw(const char *name, const float *values, size_t bytes)
{
    if (access(fault_path(name), F_OK) == 0)
        return;
    FILE *file = fopen(fault_path(name), "wb");
    if (!file || fwrite(values, 1, bytes, file) != bytes || fclose(file) != 0)
        abort();
}

static rung_status multiply_files(const rung_outofcore_matrix *a, const rung_outofcore_matrix *b)
{
    rung_outofcore_problem problem = rung_outofcore_problem_of(a, b);
    rung_outofcore_options options = rung_outofcore_options_default();
    rung_outofcore_report *report; /* also of a call that fails */
    problem.path = fault_path("c.raw");
    problem.format = RUNG_OUTOFCORE_FORMAT_RAW;
    options.memory_bytes = 64 << 10;
    rung_status status = rung_outofcore_multiply(context, &problem, &options, &report);
    rung_outofcore_report_destroy(report);
    return status;
}

static rung_status run_outofcore(void)
{
    rung_outofcore_matrix *a = NULL, *b = NULL;
    write_raw("a.raw", fault_a, sizeof fault_a);
    write_raw("b.raw", fault_b, sizeof fault_b);
    TRY(open_device());
    rung_status status = rung_outofcore_matrix_open_raw(fault_path("a.raw"), RUNG_F32, FAULT_M, FAULT_K, &a);
    if (status == RUNG_OK)
        status = rung_outofcore_matrix_open_raw(fault_path("b.raw"), RUNG_F32, FAULT_K, FAULT_N, &b);
    if (status == RUNG_OK)
        status = multiply_files(a, b);
    rung_outofcore_matrix_destroy(a);
    rung_outofcore_matrix_destroy(b);
    return status;
}

static bool read_c(void)
{
    FILE *file = fopen(fault_path("c.raw"), "rb");
    size_t bytes = file ? fread(fault_c, 1, sizeof fault_c, file) : 0;
    if (file)
        fclose(file);
    return bytes == sizeof fault_c && fault_c_is_product();
}

/* ---- The emulator ---------------------------------------------------------------------------------------------------- */

static const char doubles[] =
    ".version 8.3\n.target sm_86\n.address_size 64\n"
    ".visible .entry twice(.param .u64 data)\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<4>;\n.shared .align 4 .b8 tile[128];\n"
    "mov.u32 %r0, %tid.x;\nld.param.u64 %rd0, [data];\nmul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd0, %rd1;\n"
    "ld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, %r1;\nbar.sync 0;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

static rung_emulator *emulator;
static uint32_t words[32];

static rung_status launch_twice(rung_emulator_module *module, uint64_t address)
{
    rung_emulator_kernel *kernel;
    void *arguments[] = {&address};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 32, arguments);
    TRY(rung_emulator_kernel_find(module, "twice", &kernel));
    TRY(rung_emulator_write(emulator, address, words, sizeof words));
    TRY(rung_emulator_launch_kernel(kernel, &launch));
    TRY(rung_emulator_read(emulator, address, words, sizeof words));
    return rung_emulator_free(emulator, address);
}

static rung_status run_emulator(void)
{
    rung_emulator_options options = rung_emulator_options_default();
    rung_emulator_module *module;
    uint64_t address;
    for (uint32_t i = 0; i < 32; i++)
        words[i] = i;
    options.threads = 2;
    options.checks = RUNG_EMULATOR_CHECK_ALL;
    options.count_accesses = true;
    if (!emulator)
        TRY(rung_emulator_create(&options, &emulator));
    TRY(rung_emulator_module_load(emulator, "twice.ptx", doubles, strlen(doubles), &module));
    rung_status status = rung_emulator_allocate(emulator, sizeof words, "data", &address);
    if (status == RUNG_OK)
        status = launch_twice(module, address);
    if (status == RUNG_OK && rung_emulator_line_count(emulator) < 1)
        status = rung_error_text()[0] ? RUNG_STATUS_NO_MEMORY : RUNG_OK;
    rung_emulator_module_unload(module);
    return status;
}

static void close_emulator(void)
{
    rung_emulator_destroy(emulator);
    emulator = NULL;
}

static bool is_twice(void)
{
    for (uint32_t i = 0; i < 32; i++)
        if (words[i] != 2 * i)
            return false;
    return true;
}

const fault_scenario fault_file_scenarios[] = {
    {"tuning", run_tuning, close_device, fault_c_is_product, FAULT_CPU},
    {"tune", run_tune, close_device, fault_c_is_product, FAULT_CPU},
    {"weights", run_weights, close_device, fault_c_is_product, FAULT_CPU},
    {"outofcore", run_outofcore, close_device, read_c, FAULT_CPU},
    {"emulator", run_emulator, close_emulator, is_twice, FAULT_CPU},
    {0},
};
