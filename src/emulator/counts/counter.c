/* SPDX-License-Identifier: Apache-2.0 */
/* counter.c - the counter of one thread: finds the pattern of each memory request. See counts.h. */
#include <stdlib.h>
#include <string.h>

#include "emulator/counts/counts.h"
#include "emulator/machine/emulator.h"
#include "emulator/ptx/instruction_table.h"

/* Patterns that an instruction may have before old ones are replaced. A word has 32 places in a cache line. */
enum { PATTERNS_MAX = 32, LINE_BYTES = 128, WORD_BYTES = 4 };

ptx_counter_t *rungi_ptx_counter_create(const ptx_launch_t *launch)
{
    size_t count = (size_t)launch->module->instruction_count + 1;
    ptx_counter_t *counter = calloc(1, sizeof *counter);
    if (!counter)
        return NULL;
    counter->launch = launch;
    counter->instructions = launch->module->instructions;
    counter->first = malloc(count * sizeof *counter->first);
    counter->last_used = malloc(count * sizeof *counter->last_used);
    counter->passes = calloc(count, sizeof *counter->passes);
    counter->divergent = calloc(count, sizeof *counter->divergent);
    bool has_reuse = rungi_ptx_reuse_create(launch, &counter->reuse);
    bool has_waits = rungi_ptx_wait_counter_create(launch->module, &counter->waits);
    bool has_trace = rungi_ptx_trace_create(launch, &counter->trace);
    if (!counter->first || !counter->last_used || !counter->passes || !counter->divergent || !has_reuse || !has_waits ||
        !has_trace) {
        rungi_ptx_counter_free(counter);
        return NULL;
    }
    memset(counter->first, -1, count * sizeof *counter->first);
    memset(counter->last_used, -1, count * sizeof *counter->last_used);
    return counter;
}

void rungi_ptx_counter_free(ptx_counter_t *counter)
{
    if (!counter)
        return;
    free(counter->first);
    free(counter->last_used);
    free(counter->passes);
    free(counter->divergent);
    free(counter->entries);
    rungi_ptx_reuse_free(&counter->reuse);
    rungi_ptx_wait_counter_free(&counter->waits);
    rungi_ptx_trace_free(counter->trace);
    free(counter);
}

void rungi_ptx_count_flush(ptx_count_entry_t *entry)
{
    const ptx_request_cost_t *cost = &entry->cost;
    int64_t repeats = entry->repeats;
    entry->sum.requests += repeats;
    entry->sum.lanes += repeats * cost->lanes;
    entry->sum.partial += cost->lanes < PTX_WARP_LANES ? repeats : 0;
    entry->sum.sectors += repeats * cost->sectors;
    entry->sum.lines += repeats * cost->lines;
    entry->sum.ideal_sectors += repeats * cost->ideal_sectors;
    entry->sum.wavefronts += repeats * cost->wavefronts;
    entry->sum.ideal_wavefronts += repeats * cost->ideal_wavefronts;
    entry->sum.bytes += repeats * cost->lanes * entry->bytes;
    entry->sum.distinct_bytes += repeats * cost->distinct_bytes;
    entry->sum.atomic_conflicts += repeats * cost->atomic_conflicts;
    entry->repeats = 0;
}

/* ---- Arrays -------------------------------------------------------------------------------------------------------- */

/* Finds the shared array that contains an offset. */
static void find_shared_array(const ptx_launch_t *launch, uint64_t address, ptx_count_entry_t *entry)
{
    const ptx_module_t *module = launch->module;
    for (int32_t i = 0; i < module->shared_array_count; i++) {
        const ptx_shared_array_t *array = &module->shared_arrays[i];
        uint64_t start = (uint64_t)array->offset;
        if (array->kernel != launch->kernel_index || address < start || address - start >= (uint64_t)array->bytes)
            continue;
        entry->array = i;
        entry->array_start = start;
        entry->array_end = start + (uint64_t)array->bytes;
        return;
    }
}

/* Sets the array of an entry from the lowest and the highest byte that is accessed. */
static void find_array(const ptx_launch_t *launch, uint64_t lowest, uint64_t end, ptx_count_entry_t *entry)
{
    entry->array = -1;
    entry->array_start = 0;
    entry->array_end = UINT64_MAX;
    if (entry->space == PTX_SPACE_SHARED) {
        find_shared_array(launch, lowest, entry);
    } else if (entry->space == PTX_SPACE_GLOBAL) {
        const ptx_allocation_t *found = rungi_ptx_find_allocation(launch->emulator, lowest);
        if (found) {
            entry->array = found - launch->emulator->allocations;
            entry->array_start = found->start;
            entry->array_end = found->start + (uint64_t)found->bytes;
        }
    }
    if (end > entry->array_end) { /* several arrays */
        entry->array = -1;
        entry->array_start = lowest;
        entry->array_end = end;
    }
}

/* ---- Patterns ------------------------------------------------------------------------------------------------------ */

/* Computes pattern and cost. A merged access may begin before the address of its first instruction. */
static void set_pattern(ptx_count_entry_t *entry, const ptx_request_t *request)
{
    uint64_t first = request->address[0], lowest = UINT64_MAX, highest = 0, aligned[PTX_WARP_LANES];
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        aligned[lane] = request->address[lane] & ~(uint64_t)(request->bytes - 1);
        entry->delta[lane] = request->address[lane] - first;
        lowest = aligned[lane] < lowest ? aligned[lane] : lowest;
        highest = aligned[lane] > highest ? aligned[lane] : highest;
    }
    ptx_request_t moved = *request;
    moved.address = aligned;
    entry->cost = rungi_ptx_request_cost(&moved);
    entry->mask = request->mask;
    entry->phase_mask = request->space == PTX_SPACE_GLOBAL ? LINE_BYTES - 1 : WORD_BYTES - 1;
    entry->phase = first & entry->phase_mask;
    entry->low = first - lowest;
    entry->high = highest - first + (uint64_t)request->bytes;
}

/* Returns an entry for a new pattern: a new one, or an old one of the same array. NULL if memory is short. */
static ptx_count_entry_t *take_entry(ptx_counter_t *counter, int32_t pc, const ptx_count_entry_t *wanted)
{
    int32_t same[PATTERNS_MAX];
    uint32_t same_count = 0;
    for (int32_t i = counter->first[pc]; i >= 0; i = counter->entries[i].next) {
        const ptx_count_entry_t *entry = &counter->entries[i];
        if (same_count < PATTERNS_MAX && entry->space == wanted->space && entry->kind == wanted->kind &&
            entry->array == wanted->array)
            same[same_count++] = i;
    }
    if (same_count == PATTERNS_MAX) {
        ptx_count_entry_t *entry = &counter->entries[same[counter->victim++ % PATTERNS_MAX]];
        rungi_ptx_count_flush(entry);
        return entry;
    }
    if (counter->entry_count == counter->entry_capacity) {
        int32_t capacity = counter->entry_capacity ? 2 * counter->entry_capacity : 64;
        ptx_count_entry_t *entries = realloc(counter->entries, (size_t)capacity * sizeof *entries);
        if (!entries) {
            counter->has_lost_counts = true;
            return NULL;
        }
        counter->entries = entries;
        counter->entry_capacity = capacity;
    }
    ptx_count_entry_t *entry = &counter->entries[counter->entry_count];
    memset(entry, 0, sizeof *entry);
    entry->pc = pc;
    entry->next = counter->first[pc];
    counter->first[pc] = counter->entry_count++;
    return entry;
}

/* Stores where the lanes of the first request of an entry are in its array. */
static void set_first(const ptx_warp_t *warp, const ptx_request_t *request, ptx_count_entry_t *entry)
{
    entry->sum.first_warp = warp->block->linear_id * warp->block->warp_count + warp->index;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint64_t start = request->address[lane] & ~(uint64_t)(request->bytes - 1); /* of a merged access */
        entry->sum.first_offsets[lane] = request->mask >> lane & 1 ? (int64_t)(start - entry->array_start) : -1;
    }
}

/* Counts a request. Returns its pattern; NULL if memory is short. */
static const ptx_count_entry_t *count_pattern(ptx_warp_t *warp, const ptx_instruction_t *instruction,
                                              const ptx_request_t *request)
{
    ptx_counter_t *counter = warp->block->counter;
    int32_t pc = (int32_t)(instruction - counter->instructions), last = counter->last_used[pc];
    if (request->space == PTX_SPACE_GLOBAL)
        rungi_ptx_reuse_mark(&counter->reuse, warp->block, request->address, request->kind);
    if (last >= 0 && counter->entries[last].space == request->space && counter->entries[last].kind == request->kind &&
        rungi_ptx_is_repeated(&counter->entries[last], request->mask, 0, request->address)) {
        counter->entries[last].repeats++;
        return &counter->entries[last];
    }
    for (int32_t i = counter->first[pc]; i >= 0; i = counter->entries[i].next) {
        ptx_count_entry_t *entry = &counter->entries[i];
        bool is_possible = (request->address[0] & entry->phase_mask) == entry->phase && entry->mask == request->mask &&
                           entry->space == request->space && entry->kind == request->kind;
        if (is_possible && rungi_ptx_is_repeated(entry, request->mask, 0, request->address)) {
            entry->repeats++;
            counter->last_used[pc] = i;
            return entry;
        }
    }
    ptx_count_entry_t wanted = {
        .pc = pc, .space = request->space, .kind = request->kind, .bytes = request->bytes, .repeats = 1};
    set_pattern(&wanted, request);
    find_array(counter->launch, request->address[0] - wanted.low, request->address[0] + wanted.high, &wanted);
    ptx_count_entry_t *entry = take_entry(counter, pc, &wanted);
    if (!entry)
        return NULL;
    wanted.next = entry->next;
    if (entry->sum.requests > 0)
        wanted.sum = entry->sum;
    else
        set_first(warp, request, &wanted);
    *entry = wanted;
    counter->last_used[pc] = (int32_t)(entry - counter->entries);
    return entry;
}

/* Counts a request whose inactive lanes repeat the address of an active one. Of a traced launch, every request comes here:
 * without a last pattern, rungi_ptx_count_words() has no short way. */
static void count_request(ptx_warp_t *warp, const ptx_instruction_t *instruction, const ptx_request_t *request)
{
    ptx_counter_t *counter = warp->block->counter;
    const ptx_count_entry_t *entry = count_pattern(warp, instruction, request);
    if (!counter->trace || !entry)
        return;
    counter->last_used[entry->pc] = -1;
    const ptx_traced_pattern_t pattern = {entry->pc, entry->array, entry->array_start, entry->cost};
    rungi_ptx_trace_add(counter->trace, warp, request, &pattern);
}

/* ---- Accesses ------------------------------------------------------------------------------------------------------ */

/* Returns the bytes per lane after merging; 0 if another instruction counts the access. */
static int merged_bytes(const ptx_instruction_t *instruction, int bytes)
{
    return instruction->merged < 0 ? 0 : instruction->merged > 0 ? instruction->merged : bytes;
}

void rungi_ptx_count_new_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, uint64_t base,
                               const uint64_t offset[PTX_WARP_LANES], ptx_access_t kind)
{
    uint64_t address[PTX_WARP_LANES];
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        address[lane] = offset[lane] + base;
    ptx_request_t request = {.mask = mask,
                             .address = address,
                             .bytes = merged_bytes(instruction, 4 * instruction->vector_length),
                             .kind = kind,
                             .space = (ptx_space_t)instruction->space};
    count_request(warp, instruction, &request);
}

/* Distributed shared memory of other blocks is counted like the block's own. Constants are told from other global memory by
 * the instruction. */
static ptx_space_t counted_space(const ptx_checked_access_t *access, int lane)
{
    ptx_space_t space = access->space[lane];
    if (access->instruction->space == PTX_SPACE_CONST)
        return PTX_SPACE_CONST;
    return space == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : space;
}

void rungi_ptx_count_access(const ptx_checked_access_t *access)
{
    uint64_t address[PTX_WARP_LANES];
    const ptx_instruction_t *instruction = access->instruction;
    int bytes = merged_bytes(instruction, access->bytes);
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    bool is_matrix = instruction->control == PTX_CONTROL_WARP_SYNC &&
                     (strcmp(opcode, "ldmatrix") == 0 || strcmp(opcode, "wmma") == 0);
    uint32_t rest = bytes == 0 ? 0 : access->mask;
    if (rest == ~0u && instruction->space != PTX_SPACE_GENERIC && access->space[0] != PTX_SPACE_PARAM) {
        ptx_request_t request = {.mask = rest,
                                 .address = access->address,
                                 .bytes = bytes,
                                 .kind = access->kind,
                                 .space = counted_space(access, 0),
                                 .is_matrix = is_matrix};
        count_request(access->warp, instruction, &request);
        return;
    }
    while (rest) {
        int first = __builtin_ctz(rest);
        ptx_space_t space = counted_space(access, first);
        uint32_t lanes = 0;
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            bool is_member = (rest >> lane & 1) && counted_space(access, lane) == space;
            lanes |= (uint32_t)is_member << lane;
            address[lane] = access->address[is_member ? lane : first];
        }
        ptx_request_t request = {.mask = lanes,
                                 .address = address,
                                 .bytes = bytes,
                                 .kind = access->kind,
                                 .space = space,
                                 .is_matrix = is_matrix};
        if (space != PTX_SPACE_PARAM)
            count_request(access->warp, instruction, &request);
        rest &= ~lanes;
    }
}
