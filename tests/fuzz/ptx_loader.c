/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_loader.c - any bytes as the text of a PTX module, loaded into an emulator. Each kernel of a module that loads is
 * launched with all checks and counts, and without any, for a few thousand instructions. Whatever a kernel does stays
 * inside of the emulator's memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rung/emulator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUFFER_BYTES = 4096, PARAMETER_BYTES_MAX = 1 << 16, KERNELS_MAX = 4 };

static void launch(rung_emulator *emulator, rung_emulator_kernel *kernel, uint64_t buffer)
{
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(kernel);
    static unsigned char parameters[PARAMETER_BYTES_MAX];
    int64_t bytes = 0;
    memset(parameters, 0, sizeof parameters);
    for (int64_t i = 0; i < info->parameter_count; i++) {
        int64_t end = info->parameter_offsets[i] + info->parameter_bytes[i];
        if (end < 0 || end > PARAMETER_BYTES_MAX)
            return;
        bytes = end > bytes ? end : bytes;
        if (info->parameter_bytes[i] == 8) /* an address, probably */
            memcpy(parameters + info->parameter_offsets[i], &buffer, 8);
        else if (info->parameter_bytes[i] >= 4)
            memcpy(parameters + info->parameter_offsets[i], &(int){5}, 4);
    }
    rung_emulator_launch launch = rung_emulator_launch_of(2, 40, NULL);
    for (int i = 0; i < 3 && info->required_block[0]; i++)
        launch.block[i] = info->required_block[i];
    launch.dynamic_shared_bytes = 64;
    launch.parameter_buffer = parameters;
    launch.parameter_bytes = bytes;
    rung_emulator_launch_kernel(kernel, &launch);
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++)
        if (!rung_emulator_finding_at(emulator, i)->text[0])
            abort();
    for (int64_t i = 0; i < rung_emulator_line_count(emulator); i++)
        if (rung_emulator_line_at(emulator, i)->requests < 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *output;
    if (!output && !(output = fopen("/dev/null", "w")))
        abort();
    rung_emulator_options options = rung_emulator_options_default();
    options.memory_bytes = 16 << 20;
    options.threads = 1;
    options.max_instructions = 2000;
    options.output = output;
    rung_emulator *emulator;
    rung_emulator_module *module;
    uint64_t buffer = 0;
    if (rung_emulator_create(&options, &emulator) != RUNG_OK ||
        rung_emulator_allocate(emulator, BUFFER_BYTES, "buffer", &buffer) != RUNG_OK)
        abort();
    rung_emulator_fill(emulator, buffer, 1, 4, BUFFER_BYTES / 4);
    if (rung_emulator_module_load(emulator, "fuzz", (const char *)data, size, &module) == RUNG_OK) {
        int64_t count = rung_emulator_kernel_count(module);
        for (int64_t i = 0; i < count && i < KERNELS_MAX; i++) {
            rung_emulator_set_checks(emulator, RUNG_EMULATOR_CHECK_ALL, true);
            launch(emulator, rung_emulator_kernel_at(module, i), buffer);
            rung_emulator_set_checks(emulator, 0, false);
            launch(emulator, rung_emulator_kernel_at(module, i), buffer);
        }
        rung_emulator_module_unload(module);
    } else if (!rung_error_text()[0]) {
        abort(); /* a refusal without a reason */
    }
    rung_emulator_destroy(emulator);
    return 0;
}
