/* SPDX-License-Identifier: Apache-2.0 */
/* undefined_registers.c - finds registers that never have a defined value: accumulators that nobody sets.
 *
 * The compiler keeps small arrays and variables in registers. If a kernel adds to one without an initial value, the PTX reads
 * a register that no instruction has written. Each definition of such a register is computed from registers of the same kind.
 * Registers that are defined on some path only are not searched for: compilers write such code for correct kernels too. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/parser.h"

enum { UNIT = 64, SWEEPS_MAX = 64 }; /* bytes of the smallest register */

enum { UNKNOWN, UNDEFINED, DEFINED }; /* UNKNOWN: no instruction writes the register */

/* The mentions of one instruction. */
typedef struct group {
    const ptx_mention_t *first, *end;
} group_t;

typedef struct search {
    ptx_parser_t *parser;
    const ptx_mention_t *mentions; /* of one function */
    int32_t mention_count;
    unsigned char *states; /* by unit of the frame */
} search_t;

/* Returns whether the result of an instruction is undefined if one of its operands is. */
static bool passes_on(const ptx_instruction_t *instruction)
{
    static const char *const opcodes[] = {"fma", "add",  "sub", "mul", "mad", "mov",
                                          "mma", "wmma", "min", "max", "neg", "dp4a"};
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (strcmp(opcode, opcodes[i]) == 0)
            return true;
    return false;
}

static const ptx_instruction_t *instruction_of(const search_t *search, const group_t *group)
{
    return (const ptx_instruction_t *)search->parser->instructions.data + group->first->instruction;
}

static bool next_group(const search_t *search, group_t *group)
{
    const ptx_mention_t *end = search->mentions + search->mention_count;
    group->first = group->end ? group->end : search->mentions;
    group->end = group->first;
    while (group->end < end && group->end->instruction == group->first->instruction)
        group->end++;
    return group->first < end;
}

static unsigned char *state_of(const search_t *search, const ptx_mention_t *mention)
{
    return &search->states[mention->operand / UNIT];
}

/* Returns whether an instruction reads a register that may be undefined. The text mentions destinations too. */
static bool reads_undefined(const search_t *search, const group_t *group)
{
    for (const ptx_mention_t *mention = group->first; mention < group->end; mention++) {
        int reads = 0;
        for (const ptx_mention_t *other = group->first; other < group->end; other++)
            if (other->operand == mention->operand)
                reads += other->is_destination ? -1 : 1;
        if (reads > 0 && *state_of(search, mention) == UNDEFINED)
            return true;
    }
    return false;
}

/* Assumes that registers are undefined which only arithmetic writes. */
static void begin(const search_t *search)
{
    group_t group = {NULL, NULL};
    while (next_group(search, &group)) {
        const ptx_instruction_t *instruction = instruction_of(search, &group);
        for (const ptx_mention_t *mention = group.first; mention < group.end; mention++) {
            unsigned char *state = state_of(search, mention);
            if (instruction->control == PTX_CONTROL_CALL || (mention->is_destination && !passes_on(instruction)))
                *state = DEFINED;
            else if (mention->is_destination && *state == UNKNOWN)
                *state = UNDEFINED;
        }
    }
}

/* Registers that an instruction computes from defined ones only are defined. Returns whether a state has changed. */
static bool sweep(const search_t *search)
{
    group_t group = {NULL, NULL};
    bool has_changed = false;
    while (next_group(search, &group)) {
        bool writes = false;
        for (const ptx_mention_t *mention = group.first; mention < group.end; mention++)
            writes = writes || (mention->is_destination && *state_of(search, mention) == UNDEFINED);
        if (!writes || reads_undefined(search, &group))
            continue;
        for (const ptx_mention_t *mention = group.first; mention < group.end; mention++)
            if (mention->is_destination)
                *state_of(search, mention) = DEFINED;
        has_changed = true;
    }
    return has_changed;
}

/* Replaces the executors of arithmetic with undefined registers by one that reports it. A copy is no mistake yet. */
static bool watch(const search_t *search)
{
    ptx_module_t *module = search->parser->module;
    ptx_execute_fn watcher = search->parser->environment->find_executor("undefined_read");
    group_t group = {NULL, NULL};
    while (next_group(search, &group)) {
        ptx_instruction_t *instruction = (ptx_instruction_t *)search->parser->instructions.data +
                                         group.first->instruction;
        bool is_copy = strcmp(rungi_ptx_table_row(instruction->row)->entry.opcode, "mov") == 0;
        if (!watcher || is_copy || !instruction->execute || !passes_on(instruction) || !reads_undefined(search, &group))
            continue;
        ptx_undefined_read_t *reads = realloc(module->undefined_reads,
                                              ((size_t)module->undefined_count + 1) * sizeof *reads);
        if (!reads)
            return false;
        module->undefined_reads = reads;
        reads[module->undefined_count++] = (ptx_undefined_read_t){group.first->instruction, instruction->execute};
        instruction->execute = watcher;
    }
    return true;
}

static bool search_function(search_t *search, const ptx_function_t *function)
{
    search->states = calloc((size_t)function->frame_bytes / UNIT + 1, 1);
    if (!search->states)
        return false;
    bool has_changed = true, is_good = true;
    begin(search);
    for (int i = 0; has_changed && i < SWEEPS_MAX; i++)
        has_changed = sweep(search);
    if (!has_changed)
        is_good = watch(search);
    free(search->states);
    return is_good;
}

rung_status rungi_ptx_find_undefined(ptx_parser_t *parser)
{
    const ptx_function_t *functions = parser->functions.data;
    const ptx_mention_t *mentions = parser->mentions.data;
    int32_t next = 0;
    for (int32_t i = 0; !parser->lacks_mentions && i < parser->functions.count; i++) {
        const ptx_function_t *function = &functions[i];
        while (next < parser->mentions.count && mentions[next].instruction < function->first)
            next++;
        int32_t first = next;
        while (next < parser->mentions.count && mentions[next].instruction < function->end)
            next++;
        if (!function->is_kernel || next == first) /* without mentions there may be no array */
            continue;
        search_t search = {.parser = parser, .mentions = mentions + first, .mention_count = next - first};
        if (!search_function(&search, function))
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the registers of a PTX module");
    }
    return RUNG_OK;
}
