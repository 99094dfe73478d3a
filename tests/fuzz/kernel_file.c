/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_file.c - any bytes as a kernel file and as a list of parameters for it; a zero byte is between the two. A kernel that is
 * accepted has parameters, constraints and presets that can be read, and values that all constraints accept. */
#include "byte_reader.h"

#include "rung/rung.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lists(const rung_kernel *kernel, const char *parameters)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    int64_t value;
    MUST(strlen(info->defaults) < RUNG_PARAMETERS_BYTES && strlen(info->name) > 0);
    for (int64_t i = 0; i < info->parameter_count; i++) {
        const rung_parameter *parameter = rung_kernel_parameter(kernel, i);
        MUST(strlen(parameter->name) > 0 && parameter->choice_count >= 0);
        for (int64_t j = 0; j < parameter->choice_count; j++)
            MUST(parameter->choices[j] >= 0 || parameter->choices[j] < 0);
        if (rung_kernel_evaluate(kernel, NULL, RUNG_F32, parameter->name, &value) == RUNG_OK)
            MUST(value == parameter->value);
    }
    for (int64_t i = 0; i < info->constraint_count; i++) {
        const rung_constraint *constraint = rung_kernel_constraint(kernel, i);
        MUST(constraint->rejected_if && constraint->reason);
        if (rung_kernel_evaluate(kernel, parameters, RUNG_F32, constraint->rejected_if, &value) == RUNG_OK)
            MUST(value == 0);
    }
    for (int64_t i = 0; i < info->preset_count; i++)
        MUST(strlen(rung_kernel_preset(kernel, i)->name) > 0 && rung_kernel_preset(kernel, i)->parameters);
    MUST(!rung_kernel_parameter(kernel, info->parameter_count) && !rung_kernel_preset(kernel, info->preset_count));
    MUST(!rung_kernel_constraint(kernel, info->constraint_count));
}

static void evaluate(const rung_kernel *kernel, const char *parameters)
{
    static const char *const names[] = {"BM", "BN", "BK", "TILE * TILE", "IN_BYTES"};
    int64_t value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (rung_kernel_evaluate(kernel, parameters, RUNG_F16, names[i], &value) != RUNG_OK)
            MUST(strlen(rung_error_text()) > 10);
    for (int type = 0; type < 17; type++)
        rung_kernel_supports(kernel, (rung_type)type, (rung_type)type, RUNG_F32, NULL);
    for (int mode = 0; mode < 7; mode++)
        rung_kernel_computes(kernel, (rung_compute)mode, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const backends[] = {"cuda", "opencl"};
    char *text = malloc(size + 2);
    rung_kernel *kernel;
    MUST(text);
    memcpy(text, data, size);
    text[size] = text[size + 1] = '\0';
    const char *parameters = text + strlen(text) + 1 < text + size ? text + strlen(text) + 1 : "";
    for (int i = 0; i < 2; i++) {
        rung_status status = rung_kernel_from_source(NULL, backends[i], "fuzz.cu", text, &kernel);
        if (status == RUNG_OK) {
            check_lists(kernel, NULL);
            check_lists(kernel, parameters);
            evaluate(kernel, parameters);
            rung_kernel_destroy(kernel);
        } else {
            MUST(!kernel && strlen(rung_error_text()) > 15);
        }
    }
    free(text);
    return 0;
}
