/* SPDX-License-Identifier: Apache-2.0 */
/* register_allocation.c - lets registers that are never live at the same time share their place in the frame.
 *
 * Compilers write PTX with a new register for every value. A warp's registers take 128 bytes and more each, so the frame of
 * an unrolled loop would not fit into the L1 cache. Each lane has its own part of a register, and executors write active
 * lanes only; therefore the usual analysis of one thread holds for divergent code too. Only registers of the same size share
 * a place, because the parts of the lanes would overlap otherwise. Predicates and parameters keep their places. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/parser.h"

enum { UNIT = 64, WORD = 64 }; /* bytes of the smallest register; bits of a word of a set */

/* Larger functions keep a place for each register, so that loading a module never takes long. */
enum { REGISTERS_MAX = 1 << 16, SET_WORDS_MAX = 1 << 24, SWEEPS_MAX = 100 };

typedef struct live_register {
    ptx_operand_t operand, place; /* before and after */
    int32_t bytes;                /* of one lane */
    int32_t start, end;           /* positions; instruction i reads at 2 * i and writes at 2 * i + 1 */
    int32_t marked;               /* instruction that mentions it */
    bool is_read, is_written;     /* by that instruction */
} live_register_t;

typedef struct block {
    int32_t first, end; /* instructions */
} block_t;

typedef struct allocation {
    ptx_parser_t *parser;
    ptx_function_t *function;
    int32_t function_index;
    ptx_instruction_t *instructions; /* of the module */
    const ptx_mention_t *mentions;   /* of the function */
    int32_t mention_count;
    int32_t *index_of; /* register at each unit of the frame, or -1 */
    live_register_t *registers;
    int32_t register_count, block_count;
    int32_t *block_of;      /* of instructions; counted from the function's first one */
    int32_t *mention_first; /* of instructions */
    block_t *blocks;
    uint64_t *live_in, *live_out; /* sets of registers per block */
    size_t words;                 /* of one set */
} allocation_t;

void rungi_ptx_mention(ptx_parser_t *parser, ptx_operand_t operand, ptx_type_t type, bool is_destination)
{
    if (type == PTX_PRED || (operand & PTX_BASE_MASK) != PTX_BASE_FRAME)
        return;
    ptx_mention_t *mention = rungi_ptx_vector_append(&parser->mentions, sizeof *mention, 1);
    if (!mention) {
        parser->lacks_mentions = true;
        return;
    }
    *mention = (ptx_mention_t){.instruction = parser->instructions.count,
                               .operand = operand,
                               .bytes = rungi_ptx_register_bytes(type),
                               .is_destination = is_destination};
}

/* ---- Registers and blocks ------------------------------------------------------------------------------------------- */

static void list_registers(allocation_t *allocation)
{
    int32_t units = (int32_t)(allocation->function->frame_bytes / UNIT + 1), first = allocation->function->first,
            next = 0;
    for (int32_t i = 0; i < units; i++)
        allocation->index_of[i] = -1;
    for (int32_t i = 0; i < allocation->mention_count; i++) {
        const ptx_mention_t *mention = &allocation->mentions[i];
        int32_t *index = &allocation->index_of[mention->operand / UNIT];
        while (next <= mention->instruction - first)
            allocation->mention_first[next++] = i;
        if (*index >= 0)
            continue;
        *index = allocation->register_count++;
        allocation->registers[*index] = (live_register_t){.operand = mention->operand,
                                                          .place = mention->operand,
                                                          .bytes = mention->bytes,
                                                          .start = INT32_MAX,
                                                          .end = -1,
                                                          .marked = -1};
    }
    while (next <= allocation->function->end - first)
        allocation->mention_first[next++] = allocation->mention_count;
}

static bool is_branch(const ptx_instruction_t *instruction)
{
    return instruction->control == PTX_CONTROL_BRANCH || instruction->control == PTX_CONTROL_INDEXED_BRANCH;
}

static bool ends_thread(const ptx_instruction_t *instruction)
{
    return instruction->control == PTX_CONTROL_RETURN || instruction->control == PTX_CONTROL_EXIT;
}

/* Returns target `i` of a branch, or -1 behind the last one. */
static int32_t branch_target(const allocation_t *allocation, const ptx_instruction_t *branch, int32_t i)
{
    const ptx_operand_t *lists = allocation->parser->lists.data;
    if (branch->control == PTX_CONTROL_BRANCH)
        return i == 0 ? branch->target : -1;
    return i < branch->list_length ? (int32_t)lists[branch->list_first + i] : -1;
}

/* Divides the function into blocks. block_of marks the first instructions before it holds the numbers. */
static void find_blocks(allocation_t *allocation)
{
    int32_t first = allocation->function->first, count = allocation->function->end - first;
    memset(allocation->block_of, 0, (size_t)count * sizeof *allocation->block_of);
    for (int32_t i = 0; i < count; i++) {
        const ptx_instruction_t *instruction = &allocation->instructions[first + i];
        if (i + 1 < count && (is_branch(instruction) || ends_thread(instruction)))
            allocation->block_of[i + 1] = 1;
        for (int32_t t = 0, target; is_branch(instruction) && (target = branch_target(allocation, instruction, t)) >= 0;
             t++)
            allocation->block_of[target - first] = 1;
    }
    for (int32_t i = 0; i < count; i++) {
        if (i == 0 || allocation->block_of[i])
            allocation->blocks[allocation->block_count++].first = first + i;
        allocation->blocks[allocation->block_count - 1].end = first + i + 1;
        allocation->block_of[i] = allocation->block_count - 1;
    }
}

/* ---- Live ranges ---------------------------------------------------------------------------------------------------- */

/* Calls `visit` for each register that an instruction mentions, once. */
static void for_registers(allocation_t *allocation, int32_t pc,
                          void (*visit)(allocation_t *, int32_t, int32_t, uint64_t *), uint64_t *set)
{
    int32_t relative = pc - allocation->function->first;
    int32_t first = allocation->mention_first[relative], end = allocation->mention_first[relative + 1];
    for (int32_t i = first; i < end; i++) {
        live_register_t *found = &allocation->registers[allocation->index_of[allocation->mentions[i].operand / UNIT]];
        int32_t reads = 0;
        bool is_first = true, is_written = false;
        for (int32_t j = first; j < end; j++)
            if (allocation->mentions[j].operand == allocation->mentions[i].operand) {
                is_first = is_first && j >= i;
                is_written = is_written || allocation->mentions[j].is_destination;
                reads += allocation->mentions[j].is_destination ? -1 : 1; /* the text mentions destinations too */
            }
        found->is_written = is_written;
        found->is_read = reads > 0;
        if (is_first)
            visit(allocation, pc, (int32_t)(found - allocation->registers), set);
    }
}

/* Instructions that accumulate in their destination, or whose destination is written later, are not full definitions. */
static bool defines(const allocation_t *allocation, int32_t pc)
{
    const ptx_instruction_t *instruction = &allocation->instructions[pc];
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    return !instruction->guard && strcmp(opcode, "wgmma") != 0 && strcmp(opcode, "tcgen05") != 0;
}

/* Updates the set of live registers from behind an instruction to before it. */
static void step_back(allocation_t *allocation, int32_t pc, int32_t index, uint64_t *live)
{
    const live_register_t *found = &allocation->registers[index];
    uint64_t bit = UINT64_C(1) << index % WORD;
    if (found->is_written && !found->is_read && defines(allocation, pc))
        live[index / WORD] &= ~bit;
    else
        live[index / WORD] |= bit;
}

/* Adds the registers that are live before a block to a set. */
static void add_live(const allocation_t *allocation, int32_t pc, uint64_t *live)
{
    if (pc >= allocation->function->end)
        return;
    const uint64_t *from = allocation->live_in +
                           (size_t)allocation->block_of[pc - allocation->function->first] * allocation->words;
    for (size_t i = 0; i < allocation->words; i++)
        live[i] |= from[i];
}

/* Computes the sets of one block. Returns whether the set before it has changed. */
static bool update_block(allocation_t *allocation, int32_t index, uint64_t *live)
{
    const block_t *block = &allocation->blocks[index];
    const ptx_instruction_t *last = &allocation->instructions[block->end - 1];
    uint64_t *live_in = allocation->live_in + (size_t)index * allocation->words;
    bool continues = last->guard || !(is_branch(last) || ends_thread(last));
    memset(live, 0, allocation->words * sizeof *live);
    for (int32_t t = 0, target; is_branch(last) && (target = branch_target(allocation, last, t)) >= 0; t++)
        add_live(allocation, target, live);
    if (continues)
        add_live(allocation, block->end, live);
    memcpy(allocation->live_out + (size_t)index * allocation->words, live, allocation->words * sizeof *live);
    for (int32_t pc = block->end - 1; pc >= block->first; pc--)
        for_registers(allocation, pc, step_back, live);
    bool has_changed = memcmp(live_in, live, allocation->words * sizeof *live) != 0;
    memcpy(live_in, live, allocation->words * sizeof *live);
    return has_changed;
}

static void extend(live_register_t *range, int32_t from, int32_t to)
{
    range->start = from < range->start ? from : range->start;
    range->end = to > range->end ? to : range->end;
}

/* Extends live ranges by what one instruction reads and writes. Destinations of instructions with several registers do not
 * share the places of its sources, so that executors may write before they have read everything. */
static void extend_at(allocation_t *allocation, int32_t pc, int32_t index, uint64_t *set)
{
    const ptx_instruction_t *instruction = &allocation->instructions[pc];
    live_register_t *found = &allocation->registers[index];
    bool is_simple = instruction->control == PTX_CONTROL_NONE && instruction->list_length == 0 &&
                     instruction->element_bytes == 0 && !instruction->guard;
    (void)set;
    if (found->is_read)
        extend(found, 2 * pc, is_simple ? 2 * pc : 2 * pc + 1);
    if (found->is_written)
        extend(found, 2 * pc + 1, 2 * pc + 1);
}

static void find_ranges(allocation_t *allocation)
{
    for (int32_t b = 0; b < allocation->block_count; b++) {
        const block_t *block = &allocation->blocks[b];
        const uint64_t *in = allocation->live_in + (size_t)b * allocation->words;
        const uint64_t *out = allocation->live_out + (size_t)b * allocation->words;
        for (int32_t i = 0; i < allocation->register_count; i++) {
            if (in[i / WORD] >> i % WORD & 1)
                extend(&allocation->registers[i], 2 * block->first, 2 * block->first);
            if (out[i / WORD] >> i % WORD & 1)
                extend(&allocation->registers[i], 2 * block->end - 1, 2 * block->end - 1);
        }
        for (int32_t pc = block->first; pc < block->end; pc++)
            for_registers(allocation, pc, extend_at, NULL);
    }
}

/* ---- Places --------------------------------------------------------------------------------------------------------- */

static int compare_starts(const void *x, const void *y)
{
    const live_register_t *a = *(live_register_t *const *)x, *b = *(live_register_t *const *)y;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->operand < b->operand ? -1 : 1;
}

static int compare_operands(const void *x, const void *y)
{
    const live_register_t *a = *(live_register_t *const *)x, *b = *(live_register_t *const *)y;
    return a->operand < b->operand ? -1 : a->operand > b->operand;
}

/* Gives each register of one size the first place that is free from its start on. */
static void assign_places(allocation_t *allocation, int32_t bytes, live_register_t **by_start,
                          live_register_t **by_operand, int32_t *free_from)
{
    int32_t count = 0;
    for (int32_t i = 0; i < allocation->register_count; i++)
        if (allocation->registers[i].bytes == bytes) {
            by_start[count] = by_operand[count] = &allocation->registers[i];
            free_from[count++] = 0;
        }
    qsort(by_start, (size_t)count, sizeof(void *), compare_starts);
    qsort(by_operand, (size_t)count, sizeof(void *), compare_operands);
    for (int32_t i = 0; i < count; i++) {
        int32_t place = 0;
        while (free_from[place] > by_start[i]->start)
            place++;
        by_start[i]->place = by_operand[place]->operand;
        free_from[place] = by_start[i]->end + 1;
    }
}

static void replace_operand(allocation_t *allocation, int32_t pc, ptx_operand_t *operand)
{
    int32_t index = *operand && (*operand & PTX_BASE_MASK) == PTX_BASE_FRAME && *operand % UNIT == 0 &&
                            *operand < allocation->function->frame_bytes
                        ? allocation->index_of[*operand / UNIT]
                        : -1;
    if (index >= 0 && allocation->registers[index].marked == pc)
        *operand = allocation->registers[index].place;
}

static void replace_operands(allocation_t *allocation)
{
    ptx_operand_t *lists = allocation->parser->lists.data;
    for (int32_t pc = allocation->function->first; pc < allocation->function->end; pc++) {
        ptx_instruction_t *instruction = &allocation->instructions[pc];
        int32_t relative = pc - allocation->function->first;
        bool has_operands = instruction->control != PTX_CONTROL_CALL &&
                            instruction->control != PTX_CONTROL_INDEXED_BRANCH;
        for (int32_t i = allocation->mention_first[relative]; i < allocation->mention_first[relative + 1]; i++)
            allocation->registers[allocation->index_of[allocation->mentions[i].operand / UNIT]].marked = pc;
        for (int i = 0; i < PTX_OPERANDS_MAX; i++)
            replace_operand(allocation, pc, &instruction->operand[i]);
        for (int32_t i = 0; has_operands && i < instruction->list_length; i++)
            replace_operand(allocation, pc, &lists[instruction->list_first + i]);
    }
}

/* ---- Functions ------------------------------------------------------------------------------------------------------ */

/* Returns whether the analysis is small enough. */
static bool is_small(const allocation_t *allocation)
{
    return allocation->register_count <= REGISTERS_MAX &&
           (size_t)allocation->block_count <= SET_WORDS_MAX / ((size_t)allocation->register_count / WORD + 1);
}

/* Finds the registers that are live before and after each block. Sets `is_complete` unless that takes too long. */
static bool find_live(allocation_t *allocation, bool *is_complete)
{
    allocation->words = (size_t)allocation->register_count / WORD + 1;
    allocation->live_in = calloc((size_t)allocation->block_count * allocation->words, sizeof(uint64_t));
    allocation->live_out = calloc((size_t)allocation->block_count * allocation->words, sizeof(uint64_t));
    uint64_t *live = calloc(allocation->words, sizeof *live);
    bool has_memory = allocation->live_in && allocation->live_out && live, has_changed = true;
    for (int sweep = 0; has_memory && has_changed && sweep < SWEEPS_MAX; sweep++) {
        has_changed = false;
        for (int32_t i = allocation->block_count - 1; i >= 0; i--)
            has_changed = update_block(allocation, i, live) || has_changed;
    }
    free(live);
    *is_complete = !has_changed;
    return has_memory;
}

/* Finds the parts of the frame that no instruction uses: registers that are never mentioned, or share another one's place. */
static bool find_gaps(const allocation_t *allocation)
{
    enum { GAP_UNITS_MIN = 4096 / UNIT };
    ptx_function_t *function = allocation->function;
    const ptx_register_area_t *areas = allocation->parser->register_areas.data;
    int64_t units = function->frame_bytes / UNIT, first = 0;
    bool *is_used = malloc((size_t)units + 1);
    if (!is_used)
        return false;
    memset(is_used, 1, (size_t)units + 1);
    for (int32_t i = 0; i < allocation->parser->register_areas.count; i++)
        if (areas[i].function == allocation->function_index)
            memset(is_used + areas[i].first / UNIT, 0, (size_t)((areas[i].end - areas[i].first) / UNIT));
    for (int32_t i = 0; i < allocation->register_count; i++) {
        const live_register_t *live = &allocation->registers[i];
        memset(is_used + live->place / UNIT, 1, (size_t)(PTX_WARP_LANES * live->bytes / UNIT));
    }
    for (int64_t i = 0; i <= units; i++) {
        if (!is_used[i])
            continue;
        if (i - first >= GAP_UNITS_MIN && function->gap_count < PTX_FRAME_GAPS_MAX)
            function->gaps[function->gap_count++] = (ptx_frame_gap_t){first * UNIT, i * UNIT};
        first = i + 1;
    }
    free(is_used);
    return true;
}

static bool share_places(allocation_t *allocation)
{
    size_t count = (size_t)allocation->register_count + 1;
    live_register_t **by_start = calloc(count, sizeof *by_start), **by_operand = calloc(count, sizeof *by_operand);
    int32_t *free_from = calloc(count, sizeof *free_from);
    bool has_memory = by_start && by_operand && free_from;
    if (has_memory) {
        find_ranges(allocation);
        for (int32_t bytes = 2; bytes <= 16; bytes *= 2)
            assign_places(allocation, bytes, by_start, by_operand, free_from);
        replace_operands(allocation);
        has_memory = find_gaps(allocation);
    }
    free(by_start);
    free(by_operand);
    free(free_from);
    return has_memory;
}

static rung_status allocate_function(ptx_parser_t *parser, int32_t index, const ptx_mention_t *mentions,
                                     int32_t mention_count)
{
    ptx_function_t *function = (ptx_function_t *)parser->functions.data + index;
    size_t count = (size_t)(function->end - function->first) + 1;
    allocation_t allocation = {.parser = parser,
                               .function = function,
                               .function_index = index,
                               .instructions = parser->instructions.data,
                               .mentions = mentions,
                               .mention_count = mention_count};
    allocation.index_of = calloc((size_t)function->frame_bytes / UNIT + 1, sizeof(int32_t));
    allocation.registers = calloc((size_t)mention_count + 1, sizeof *allocation.registers);
    allocation.block_of = calloc(count, sizeof(int32_t));
    allocation.mention_first = calloc(count, sizeof(int32_t));
    allocation.blocks = calloc(count, sizeof *allocation.blocks);
    bool has_memory = allocation.index_of && allocation.registers && allocation.block_of && allocation.mention_first &&
                      allocation.blocks;
    if (has_memory) {
        list_registers(&allocation);
        find_blocks(&allocation);
        bool is_complete = false;
        if (is_small(&allocation))
            has_memory = find_live(&allocation, &is_complete) && (!is_complete || share_places(&allocation));
    }
    free(allocation.index_of);
    free(allocation.registers);
    free(allocation.block_of);
    free(allocation.mention_first);
    free(allocation.blocks);
    free(allocation.live_in);
    free(allocation.live_out);
    return has_memory ? RUNG_OK
                      : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to allocate the registers of a PTX module");
}

/* Returns the index of the first mention at or behind an instruction. */
static int32_t find_mention(const ptx_parser_t *parser, int32_t instruction)
{
    const ptx_mention_t *mentions = parser->mentions.data;
    int32_t low = 0, high = parser->mentions.count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (mentions[middle].instruction < instruction)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

rung_status rungi_ptx_allocate_places(ptx_parser_t *parser)
{
    ptx_function_t *functions = parser->functions.data;
    const ptx_mention_t *mentions = parser->mentions.data;
    for (int32_t i = 0; !parser->lacks_mentions && i < parser->functions.count; i++) {
        if (!functions[i].is_defined)
            continue;
        int32_t first = find_mention(parser, functions[i].first), end = find_mention(parser, functions[i].end);
        if (end > first)
            TRY(allocate_function(parser, i, mentions + first, end - first));
    }
    return RUNG_OK;
}
