/* SPDX-License-Identifier: Apache-2.0 */
/* undefined_reads.c - reports arithmetic with registers that never have a defined value, which undefined_registers.c finds. */
#define PTX_VARIANT common
#include "emulator/execute/execute.h"

static const ptx_undefined_read_t *find_read(const ptx_module_t *module, int32_t pc)
{
    int32_t low = 0, high = module->undefined_count - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (module->undefined_reads[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return &module->undefined_reads[low];
}

EXECUTOR(undefined_read)
{
    const ptx_launch_t *launch = warp->block->launch;
    if (launch->checks & RUNG_EMULATOR_CHECK_UNINITIALIZED)
        rungi_ptx_report(warp, RUNG_EMULATOR_UNINITIALIZED, __builtin_ctz(mask), 0, 0,
                         "arithmetic with a variable in a register that has no initial value");
    find_read(launch->module, warp->pc)->execute(warp, instruction, mask);
}

PTX_EXECUTORS(undefined) = {E(undefined_read), {NULL, NULL}};
