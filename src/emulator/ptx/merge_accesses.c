/* SPDX-License-Identifier: Apache-2.0 */
/* merge_accesses.c - predicts which accesses to shared memory ptxas merges into 64-bit and 128-bit ones.
 *
 * ptxas merges the loads of one basic block that read at least 3 of 4 elements of an aligned chunk, or both of 2, up to 16
 * bytes; and the stores that write all elements of such a chunk. The alignment must follow from the code: from the offset of
 * the shared variable and from the factors of the index. No access moves across a store to another chunk of shared memory,
 * nor across a barrier. Accesses of 8-bit elements, with a guard, or to global memory are never merged. Found by experiment
 * with ptxas 13.0 for sm_86; tests/emulator/count_rows.c has the cases. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/address_values.h"
#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/parser.h"

enum { WIDE_BYTES = 16, CANDIDATES_MAX = 4096 };

/* An access that may be merged. */
typedef struct candidate {
    int32_t pc;
    int32_t group; /* accesses of different groups are never merged */
    ptx_value_t address;
    int bytes, element_bytes;
    bool is_store;
} candidate_t;

typedef struct block_state {
    ptx_module_t *module;
    ptx_values_t *values;
    candidate_t *candidates; /* of the current block */
    int32_t count;
    int32_t load_group, store_group;
    ptx_value_t store; /* address of the last store to shared memory */
} block_state_t;

static bool is_opcode(const ptx_instruction_t *instruction, const char *opcode)
{
    return strcmp(rungi_ptx_table_row(instruction->row)->entry.opcode, opcode) == 0;
}

/* ---- Groups -------------------------------------------------------------------------------------------------------- */

/* Sorts by group, root and offset. */
static int compare(const void *x, const void *y)
{
    const candidate_t *a = x, *b = y;
    const int64_t keys[][2] = {{a->is_store, b->is_store},
                               {a->group, b->group},
                               {a->address.root, b->address.root},
                               {a->element_bytes, b->element_bytes},
                               {a->address.offset, b->address.offset},
                               {a->pc, b->pc}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool are_mergeable(const candidate_t *a, const candidate_t *b)
{
    return a->is_store == b->is_store && a->group == b->group && a->address.root == b->address.root &&
           a->element_bytes == b->element_bytes;
}

/* Merges candidates from `first` on that are inside of one aligned chunk of `elements`. Returns how many, or 0. */
static int32_t merge_chunk(block_state_t *state, int32_t first, int elements)
{
    const candidate_t *lowest = &state->candidates[first];
    int unit = lowest->element_bytes, bytes = elements * unit;
    int64_t chunk = lowest->address.offset & -(int64_t)bytes;
    uint32_t covered = 0;
    int32_t end = first;
    if (1 << lowest->address.zeros < bytes || bytes > WIDE_BYTES)
        return 0;
    for (; end < state->count && are_mergeable(lowest, &state->candidates[end]); end++) {
        const candidate_t *next = &state->candidates[end];
        int64_t place = next->address.offset - chunk;
        if (place + next->bytes > bytes)
            break;
        covered |= ((1u << next->bytes / unit) - 1) << place / unit;
    }
    int needed = !lowest->is_store && elements == 4 ? 3 : elements;
    if (end - first < 2 || __builtin_popcount(covered) < needed)
        return 0;
    state->module->instructions[lowest->pc].merged = (int8_t)bytes;
    for (int32_t i = first + 1; i < end; i++)
        state->module->instructions[state->candidates[i].pc].merged = -1;
    return end - first;
}

static void end_block(block_state_t *state)
{
    if (state->count > 1)
        qsort(state->candidates, (size_t)state->count, sizeof *state->candidates, compare);
    for (int32_t i = 0; i < state->count;) {
        int32_t merged = merge_chunk(state, i, 4);
        if (merged == 0)
            merged = merge_chunk(state, i, 2);
        i += merged ? merged : 1;
    }
    state->count = 0;
    rungi_ptx_values_begin_block(state->values);
}

/* ---- Blocks -------------------------------------------------------------------------------------------------------- */

static void add_candidate(block_state_t *state, const ptx_instruction_t *instruction, bool is_store,
                          ptx_value_t address)
{
    int bytes = instruction->element_bytes * instruction->vector_length;
    bool is_plain = !(instruction->flags &
                      (PTX_FLAG_VOLATILE | PTX_FLAG_RELAXED | PTX_FLAG_ACQUIRE | PTX_FLAG_RELEASE));
    int bytes_max = is_store ? WIDE_BYTES / 2
                             : WIDE_BYTES; /* a wide load makes a narrow one inside of it superfluous */
    if (!is_plain || instruction->guard || instruction->element_bytes < 2 || bytes > bytes_max ||
        state->count == CANDIDATES_MAX)
        return;
    state->candidates[state->count++] = (candidate_t){.pc = (int32_t)(instruction - state->module->instructions),
                                                      .group = is_store ? state->store_group : state->load_group,
                                                      .address = address,
                                                      .bytes = bytes,
                                                      .element_bytes = instruction->element_bytes,
                                                      .is_store = is_store};
}

static bool is_same_chunk(const ptx_value_t *x, const ptx_value_t *y)
{
    return x->root == y->root && (x->offset & -WIDE_BYTES) == (y->offset & -WIDE_BYTES);
}

/* A store ends the group of loads before it, and a load the group of stores. Stores are merged only if no store to another
 * chunk is between them. */
static void visit(block_state_t *state, const ptx_instruction_t *instruction)
{
    bool is_load = is_opcode(instruction, "ld"), is_store = is_opcode(instruction, "st");
    bool is_shared = instruction->space == PTX_SPACE_SHARED || instruction->space == PTX_SPACE_GENERIC;
    bool is_atomic = is_opcode(instruction, "atom") || is_opcode(instruction, "red");
    if ((is_atomic && is_shared) || is_opcode(instruction, "fence") || is_opcode(instruction, "membar")) {
        state->load_group++;
        state->store_group++;
    }
    if ((!is_load && !is_store) || !is_shared)
        return;
    ptx_value_t address = rungi_ptx_values_address(state->values, instruction, 0);
    if (is_load) {
        state->store_group++;
    } else {
        state->load_group++;
        if (!is_same_chunk(&state->store, &address))
            state->store_group++;
        state->store = address;
    }
    if (instruction->space == PTX_SPACE_SHARED)
        add_candidate(state, instruction, is_store, address);
}

static bool *find_leaders(const ptx_module_t *module, const ptx_function_t *function)
{
    bool *leaders = calloc((size_t)(function->end - function->first) + 1, sizeof *leaders);
    for (int32_t i = function->first; leaders && i < function->end; i++) {
        const ptx_instruction_t *instruction = &module->instructions[i];
        if (instruction->control == PTX_CONTROL_BRANCH)
            leaders[instruction->target - function->first] = true;
        for (int32_t j = 0; instruction->control == PTX_CONTROL_INDEXED_BRANCH && j < instruction->list_length; j++)
            leaders[(int32_t)instruction->list[j] - function->first] = true;
    }
    return leaders;
}

static bool merge_function(ptx_module_t *module, const ptx_function_t *function)
{
    bool *leaders = find_leaders(module, function);
    block_state_t state = {.module = module,
                           .values = rungi_ptx_values_create(module, function),
                           .candidates = calloc(CANDIDATES_MAX, sizeof *state.candidates)};
    bool has_memory = leaders && state.values && state.candidates;
    if (has_memory)
        rungi_ptx_values_begin_block(state.values);
    for (int32_t i = function->first; has_memory && i < function->end; i++) {
        const ptx_instruction_t *instruction = &module->instructions[i];
        if (leaders[i - function->first])
            end_block(&state);
        visit(&state, instruction);
        rungi_ptx_values_execute(state.values, instruction);
        if (instruction->control != PTX_CONTROL_NONE && instruction->control != PTX_CONTROL_WARP_SYNC)
            end_block(&state);
    }
    if (has_memory)
        end_block(&state);
    free(leaders);
    free(state.candidates);
    rungi_ptx_values_free(state.values);
    return has_memory;
}

rung_status rungi_ptx_merge_accesses(ptx_module_t *module)
{
    for (int32_t i = 0; i < module->function_count; i++)
        if (module->functions[i].is_defined && !merge_function(module, &module->functions[i]))
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to analyse a PTX module");
    return RUNG_OK;
}
