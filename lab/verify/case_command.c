/* SPDX-License-Identifier: Apache-2.0 */
/* case_command.c - writes the command that runs one test case again. */
#include <stdio.h>
#include <string.h>

#include "verify/case_runner.h"

/* Appends the strides of one operand as an option, unless they are the default of --m. */
static void write_strides(char *text, size_t capacity, const char *name, lab_strides strides, int64_t rows,
                          int64_t cols, int64_t batch)
{
    lab_strides dense = lab_strides_of_layout(LAB_LAYOUT_rows, rows, cols);
    size_t used = strlen(text);
    if (strides.row_stride == dense.row_stride && strides.col_stride == 1 && strides.offset == 0 &&
        (batch == 1 || strides.batch_stride == lab_strides_extent(dense, rows, cols)))
        return;
    used += (size_t)snprintf(text + used, capacity - used, " --%s-strides %lld,%lld,%lld", name,
                             (long long)strides.row_stride, (long long)strides.col_stride, (long long)strides.offset);
    if (batch != 1 && used < capacity)
        snprintf(text + used, capacity - used, ",%lld", (long long)strides.batch_stride);
}

/* Appends the strides of D, if the case has a D. */
static void write_d(char *text, size_t capacity, const lab_case *problem)
{
    size_t used = strlen(text);
    if (problem->has_d)
        snprintf(text + used, capacity - used, " --d-strides %lld,%lld,%lld,%lld", (long long)problem->d.row_stride,
                 (long long)problem->d.col_stride, (long long)problem->d.offset, (long long)problem->d.batch_stride);
}

/* Appends the options of batches, epilogues, split-K, packing and compute modes. */
static void write_extras(char *text, size_t capacity, const lab_tested_kernel *subject, const lab_case *problem)
{
    char epilogue[64], numbers[2][48] = {"", ""};
    size_t used = strlen(text);
    lab_epilogue_format(problem->epilogue, epilogue, sizeof epilogue);
    if (problem->batch != 1)
        snprintf(numbers[0], sizeof numbers[0], " --batch %lld", (long long)problem->batch);
    if (problem->splits > 0)
        snprintf(numbers[1], sizeof numbers[1], " --splits %lld", (long long)problem->splits);
    snprintf(text + used, capacity - used, "%s%s%s%s%s%s%s%s", subject->is_packed ? " --packed" : "", numbers[0],
             problem->scattered ? " --scattered" : "", numbers[1], *epilogue ? " --epilogue " : "", epilogue,
             subject->compute == RUNG_COMPUTE_STRICT ? "" : " --compute ",
             subject->compute == RUNG_COMPUTE_STRICT ? "" : rung_compute_name(subject->compute));
}

/* Appends scalars, seed and threads that differ from the defaults. */
static void write_defaults(char *text, size_t capacity, const lab_tested_kernel *subject, const lab_case *problem)
{
    char scalars[96] = "", seed[32] = "", threads[32] = "";
    size_t used = strlen(text);
    if (problem->alpha != 1 || problem->beta != 0)
        snprintf(scalars, sizeof scalars, " --alpha %.17g --beta %.17g", problem->alpha, problem->beta);
    if (subject->seed != 1)
        snprintf(seed, sizeof seed, " --seed %llu", (unsigned long long)subject->seed);
    if (subject->threads > 0)
        snprintf(threads, sizeof threads, " --threads %lld", (long long)subject->threads);
    snprintf(text + used, capacity - used, "%s%s%s", scalars, seed, threads);
}

void lab_case_command(const lab_tested_kernel *subject, const lab_case *problem, char *text, size_t capacity)
{
    const char *parameters = subject->parameters ? subject->parameters : "";
    snprintf(text, capacity, "rung verify --device %s --kernels %s%s%s --dtype %s --m %lld --n %lld --k %lld",
             rung_device_describe(subject->device)->name,
             subject->kernel ? rung_kernel_describe(subject->kernel)->name : "rung_gemm",
             *parameters ? " --params " : "", parameters, lab_type_pair_name(subject->product), (long long)problem->m,
             (long long)problem->n, (long long)problem->k);
    write_strides(text, capacity, "a", problem->a, problem->m, problem->k, problem->batch);
    write_strides(text, capacity, "b", problem->b, problem->k, problem->n, problem->batch);
    write_strides(text, capacity, "c", problem->c, problem->m, problem->n, problem->batch);
    write_d(text, capacity, problem);
    write_extras(text, capacity, subject, problem);
    write_defaults(text, capacity, subject, problem);
}
