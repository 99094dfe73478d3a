/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_multiply.c - see emulated_multiply.h. */
#include "emulate/emulated_multiply.h"

#include <string.h>

#include "base/try.h"
#include "cli/interrupt.h"
#include "common/failure.h"

enum { ARGUMENTS_MAX = 32 };

/* The names of the arrays in counts and findings, and the addresses among rung_code.arguments. */
static const char *const names[LAB_EMULATED_OPERANDS] = {"a", "b", "c", "bias", "residual"};
static const int address_arguments[LAB_EMULATED_OPERANDS] = {4, 6, 9, 13, 14};
enum { OPERAND_C = 2 };

static rung_status upload(rung_emulator *emulator, const lab_emulated_problem *problem,
                          uint64_t addresses[LAB_EMULATED_OPERANDS])
{
    for (int i = 0; i < LAB_EMULATED_OPERANDS; i++) {
        const lab_emulated_operand *operand = &problem->operands[i];
        if (operand->bytes == 0)
            continue;
        TRY(rung_emulator_allocate(emulator, operand->bytes, names[i], &addresses[i]));
        if (i != OPERAND_C || problem->is_c_input)
            TRY(rung_emulator_write(emulator, addresses[i], operand->data, operand->bytes));
    }
    return RUNG_OK;
}

static rung_status launch(const rung_code *code, rung_emulator_kernel *kernel,
                          uint64_t addresses[LAB_EMULATED_OPERANDS])
{
    void *arguments[ARGUMENTS_MAX];
    for (int64_t i = 0; i < code->argument_count; i++)
        arguments[i] = code->arguments[i];
    for (int i = 0; i < LAB_EMULATED_OPERANDS; i++) {
        uint64_t operand = 0;
        if (address_arguments[i] < code->argument_count)
            memcpy(&operand, code->arguments[address_arguments[i]], sizeof operand);
        if (operand >= 1 && operand <= LAB_EMULATED_OPERANDS)
            arguments[address_arguments[i]] = &addresses[operand - 1];
    }
    rung_emulator_launch how = rung_emulator_launch_of((uint32_t)code->grid[0], (uint32_t)code->threads_per_block,
                                                       arguments);
    how.grid[1] = (uint32_t)code->grid[1];
    how.grid[2] = (uint32_t)code->grid[2];
    how.dynamic_shared_bytes = code->dynamic_shared_bytes;
    return rung_emulator_launch_kernel(kernel, &how);
}

static rung_status multiply(const rung_code *code, const lab_emulated_problem *problem, rung_emulator *emulator)
{
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t addresses[LAB_EMULATED_OPERANDS] = {0};
    const lab_emulated_operand *c = &problem->operands[OPERAND_C];
    TRY(rung_emulator_module_load(emulator, code->entry, code->ptx, (size_t)code->ptx_bytes, &module));
    TRY(rung_emulator_kernel_find(module, code->entry, &kernel));
    TRY(upload(emulator, problem, addresses));
    TRY(launch(code, kernel, addresses));
    return rung_emulator_read(emulator, addresses[OPERAND_C], c->data, c->bytes);
}

static int should_stop(void *user)
{
    (void)user;
    return lab_is_interrupted();
}

bool lab_emulated_multiply(const rung_code *code, const lab_emulated_problem *problem,
                           const lab_emulated_options *options, rung_emulator **emulator, char *why, size_t capacity)
{
    rung_emulator_options with = rung_emulator_options_default();
    *emulator = NULL;
    if (code->argument_count == 0 || code->argument_count > ARGUMENTS_MAX)
        return lab_set_reason(why, capacity,
                              "the launch needs a workspace or tensor maps, which runs on the emulator do not have");
    with.memory_bytes = (int64_t)16 << 30;
    with.threads = 1;
    with.checks = options->checks;
    with.count_accesses = options->counts_accesses;
    with.max_instructions = options->max_instructions;
    with.should_stop = should_stop;
    if (rung_emulator_create(&with, emulator) == RUNG_OK &&
        rung_emulator_set_trace(*emulator, options->traced_warps, options->traced_requests) == RUNG_OK &&
        multiply(code, problem, *emulator) == RUNG_OK)
        return true;
    return lab_set_reason(why, capacity, "%s", rung_error_text());
}
