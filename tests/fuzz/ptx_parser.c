/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_parser.c - any bytes as the text of a PTX module, for the parser alone. A module that is accepted has operands,
 * lists and branch targets inside of its tables. */
#include <stdlib.h>

#include "emulator/machine/emulator.h"
#include "emulator/ptx/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rung_status allocate(void *user, const char *name, int64_t bytes, int64_t alignment, const void *contents,
                            int64_t content_bytes, bool is_constant, uint64_t *address)
{
    uint64_t *next = user;
    (void)name, (void)alignment, (void)is_constant;
    if (bytes < 0 || content_bytes < 0 || content_bytes > bytes)
        abort();
    for (int64_t i = 0; i < content_bytes; i++) /* a sanitizer sees whether the contents are there */
        *next += ((const unsigned char *)contents)[i] & 1u;
    *address = *next = (*next + 4095) & ~UINT64_C(4095);
    return RUNG_OK;
}

static void check_operand(const ptx_module_t *module, const ptx_function_t *function, ptx_operand_t operand)
{
    int64_t offset = operand & ~(ptx_operand_t)PTX_BASE_MASK;
    int64_t end = (operand & PTX_BASE_MASK) == PTX_BASE_FRAME      ? function->frame_bytes
                  : (operand & PTX_BASE_MASK) == PTX_BASE_CONSTANT ? module->constant_bytes
                                                                   : PTX_SPECIAL_COUNT * PTX_SPECIAL_BYTES;
    if (offset >= end)
        abort();
}

static void check_function(const ptx_module_t *module, const ptx_function_t *function)
{
    if (function->first < 0 || function->end < function->first || function->end > module->instruction_count)
        abort();
    for (int32_t i = function->first; i < function->end; i++) {
        const ptx_instruction_t *instruction = &module->instructions[i];
        bool is_branch = instruction->control == PTX_CONTROL_BRANCH;
        if (is_branch && (instruction->target < function->first || instruction->target > function->end))
            abort();
        for (int k = 0; k < PTX_OPERANDS_MAX; k++)
            check_operand(module, function, instruction->operand[k]);
        if (instruction->list_length > 0 && instruction->list_first + instruction->list_length > module->list_count)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t next = UINT64_C(0x10000000000);
    ptx_environment_t environment = {allocate, rungi_ptx_find_executor, &next};
    ptx_module_t *module = NULL;
    if (rungi_ptx_parse("fuzz", (const char *)data, size, &environment, &module) != RUNG_OK)
        return 0;
    for (int32_t i = 0; i < module->function_count; i++)
        if (module->functions[i].is_defined)
            check_function(module, &module->functions[i]);
    rungi_ptx_module_destroy(module);
    return 0;
}
