/* SPDX-License-Identifier: Apache-2.0 */
/* case_command.c - writes the command that runs one test case again. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verify/case_runner.h"

typedef struct command {
    char *text;
    size_t capacity;
} command_t;

static void append(command_t command, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(command_t command, const char *format, ...)
{
    size_t used = strlen(command.text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command.text + used, command.capacity - used, format, arguments);
    va_end(arguments);
}

/* Appends the strides of one operand as an option, unless they are the default of --m. */
static void append_strides(command_t command, const char *name, lab_strides strides, lab_strides dense, int64_t extent,
                           int64_t batch)
{
    if (strides.row_stride == dense.row_stride && strides.col_stride == dense.col_stride && strides.offset == 0 &&
        (batch == 1 || strides.batch_stride == extent))
        return;
    append(command, " --%s-strides %lld,%lld,%lld", name, (long long)strides.row_stride, (long long)strides.col_stride,
           (long long)strides.offset);
    if (batch != 1)
        append(command, ",%lld", (long long)strides.batch_stride);
}

/* Appends the options of D, batches, epilogues, split-K, packing and compute modes. */
static void append_extras(command_t command, const lab_tested_kernel *subject, const lab_case *problem)
{
    char epilogue[64];
    lab_epilogue_format(problem->epilogue, epilogue, sizeof epilogue);
    if (problem->has_d)
        append(command, " --d-strides %lld,%lld,%lld,%lld", (long long)problem->d.row_stride,
               (long long)problem->d.col_stride, (long long)problem->d.offset, (long long)problem->d.batch_stride);
    if (subject->is_packed)
        append(command, " --packed");
    if (problem->batch != 1)
        append(command, " --batch %lld", (long long)problem->batch);
    if (problem->scattered)
        append(command, " --scattered");
    if (problem->splits > 0)
        append(command, " --splits %lld", (long long)problem->splits);
    if (*epilogue)
        append(command, " --epilogue %s", epilogue);
    if (subject->compute != RUNG_COMPUTE_STRICT)
        append(command, " --compute %s", rung_compute_name(subject->compute));
}

void lab_case_command(const lab_tested_kernel *subject, const lab_case *problem, char *text, size_t capacity)
{
    const char *parameters = subject->parameters ? subject->parameters : "";
    const char *quote = lab_type_pair_is_mixed(subject->product) ? "'" : ""; /* a shell expands the * */
    const lab_strides a = lab_strides_of_layout(LAB_LAYOUT_rows, problem->m, problem->k), b = lab_case_dense_b(problem),
                      c = lab_strides_of_layout(LAB_LAYOUT_rows, problem->m, problem->n);
    command_t command = {text, capacity};
    snprintf(text, capacity, "rung verify --device %s --kernels %s%s%s --dtype %s%s%s --m %lld --n %lld --k %lld",
             rung_device_describe(subject->device)->name,
             subject->kernel ? rung_kernel_describe(subject->kernel)->name : "rung_gemm",
             *parameters ? " --params " : "", parameters, quote, lab_type_pair_name(subject->product), quote,
             (long long)problem->m, (long long)problem->n, (long long)problem->k);
    append_strides(command, "a", problem->a, a, lab_strides_extent(a, problem->m, problem->k), problem->batch);
    append_strides(command, "b", problem->b, b, lab_strides_extent(b, problem->k, problem->n), problem->batch);
    append_strides(command, "c", problem->c, c, lab_strides_extent(c, problem->m, problem->n), problem->batch);
    append_extras(command, subject, problem);
    if (problem->alpha != 1 || problem->beta != 0)
        append(command, " --alpha %.17g --beta %.17g", problem->alpha, problem->beta);
    if (subject->seed != 1)
        append(command, " --seed %llu", (unsigned long long)subject->seed);
    if (subject->threads > 0)
        append(command, " --threads %lld", (long long)subject->threads);
}
