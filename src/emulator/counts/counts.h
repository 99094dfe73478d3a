/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h - counts instructions, branches and memory accesses.
 *
 * Each thread of a launch has a counter of its own, by instruction; nothing is shared while blocks run. When the launch ends,
 * the counters become rows by source line and array, which the emulator keeps (count_rows.c). Sums do not depend on which
 * thread ran which block. */
#pragma once

#include "emulator/checks/checks.h"
#include "emulator/counts/array_reuse.h"
#include "emulator/counts/request_cost.h"
#include "emulator/counts/request_trace.h"
#include "emulator/counts/wait_counter.h"

/* Requests of one instruction that cost the same: their addresses differ by a constant only. Loops repeat few such patterns,
 * so the cost is computed once and multiplied at the end. */
typedef struct ptx_count_entry {
    int32_t pc;
    int32_t next; /* entry of the same instruction, or -1 */
    ptx_space_t space;
    ptx_access_t kind;
    int bytes; /* per lane, after merging */
    uint32_t mask;
    uint64_t phase_mask, phase;     /* low bits of the first address that the cost depends on */
    uint64_t delta[PTX_WARP_LANES]; /* address minus that of lane 0 */
    uint64_t low, high;             /* the first address minus `low` and plus `high` are inside of the array */
    int64_t array;                  /* index of the allocation or of the shared array; -1: several or unknown */
    uint64_t array_start, array_end;
    ptx_request_cost_t cost;
    int64_t repeats;        /* requests of this pattern */
    rung_emulator_line sum; /* of earlier patterns: only the counts are used */
} ptx_count_entry_t;

struct ptx_counter {
    const ptx_launch_t *launch;
    const ptx_instruction_t *instructions; /* of the module */
    int32_t *first;                        /* entry of each instruction, or -1 */
    int32_t *last_used;                    /* entry of each instruction, or -1 */
    int64_t *passes;    /* warps that began to execute straight code here, minus those that left it before here */
    int64_t *divergent; /* of branches */
    ptx_count_entry_t *entries;
    int32_t entry_count, entry_capacity;
    uint32_t victim;      /* for choosing an entry to reuse */
    bool has_lost_counts; /* memory was short */
    ptx_reuse_t reuse;
    ptx_wait_counter_t waits;
    ptx_trace_t *trace; /* NULL if the launch is not traced */
};

/* Creates the counter of one thread; NULL if memory is short. */
ptx_counter_t *rungi_ptx_counter_create(const ptx_launch_t *launch);
void rungi_ptx_counter_free(ptx_counter_t *counter);

/* Adds the repeated pattern of an entry to its sum. */
void rungi_ptx_count_flush(ptx_count_entry_t *entry);

/* Counts an access of valid lanes, whose spaces may differ. */
void rungi_ptx_count_access(const ptx_checked_access_t *access);

/* Counts an access in global or shared memory. Inactive lanes repeat the address of an active lane; `base` is added. */
void rungi_ptx_count_new_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask, uint64_t base,
                               const uint64_t offset[PTX_WARP_LANES], ptx_access_t kind);

/* Returns whether addresses, as offsets from `base`, have the pattern and the array of an entry. */
static inline bool rungi_ptx_is_repeated(const ptx_count_entry_t *entry, uint32_t mask, uint64_t base,
                                         const uint64_t offset[PTX_WARP_LANES])
{
    uint64_t first = offset[0], differences = 0;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        differences |= (offset[lane] - first) ^ entry->delta[lane];
    first += base;
    return differences == 0 && entry->mask == mask && (first & entry->phase_mask) == entry->phase &&
           first - entry->low >= entry->array_start && first + entry->high <= entry->array_end;
}

/* A warp has executed the instructions [first, end). */
static inline void rungi_ptx_count_passes(ptx_warp_t *warp, int32_t first, int32_t end)
{
    ptx_counter_t *counter = warp->block->counter;
    counter->passes[first]++;
    counter->passes[end]--;
    if (warp->index == 0)
        rungi_ptx_wait_counter_pass(&counter->waits, counter->launch->module, warp->block->linear_id, first, end);
}

/* Does the same; the most frequent case, that the last pattern of shared memory is repeated, is compiled into the executors. */
static inline void rungi_ptx_count_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                                         uint64_t base, const uint64_t offset[PTX_WARP_LANES], ptx_access_t kind)
{
    ptx_counter_t *counter = warp->block->counter;
    if (instruction->merged < 0)
        return;
    int32_t last = counter->last_used[instruction - counter->instructions];
    if (last >= 0 && instruction->space != PTX_SPACE_GLOBAL &&
        rungi_ptx_is_repeated(&counter->entries[last], mask, base, offset))
        counter->entries[last].repeats++;
    else
        rungi_ptx_count_new_words(warp, instruction, mask, base, offset, kind);
}

/* ---- Of an emulator (count_rows.c) --------------------------------------------------------------------------------- */

/* Adds the totals of a launch and the counters of its threads (NULL: not counted) to the emulator's counts. */
rung_status rungi_ptx_counts_add(const ptx_launch_t *launch, ptx_counter_t *const *counters, int count);

/* Frees everything that was counted. */
void rungi_ptx_counts_free(rung_emulator *emulator);
