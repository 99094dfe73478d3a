/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier.c - see mbarrier.h. */
#include "emulator/machine/mbarrier.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/checks/checks.h"
#include "emulator/ptx/vector.h"

enum { COUNT_MAX = (1 << 20) - 1, BYTES_MAX = (1 << 20) - 1, PHASE_SHIFT = 32 };

static size_t clock_length(const ptx_block_t *block)
{
    return (size_t)block->cluster->count * (size_t)block->warp_count;
}

void rungi_ptx_mbarriers_clear(ptx_block_t *block)
{
    for (int i = 0; i < block->mbarrier_count; i++)
        free(block->mbarriers[i].clocks);
    block->mbarrier_count = 0;
}

void rungi_ptx_mbarriers_free(ptx_block_t *block)
{
    rungi_ptx_mbarriers_clear(block);
    free(block->mbarriers);
}

static ptx_mbarrier_t *find(ptx_block_t *block, uint64_t offset)
{
    for (int i = 0; i < block->mbarrier_count; i++)
        if (block->mbarriers[i].offset == offset)
            return &block->mbarriers[i];
    return NULL;
}

/* ---- Creation ------------------------------------------------------------------------------------------------------ */

static void fault_memory(ptx_warp_t *warp, int lane)
{
    rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "no memory for an mbarrier");
}

static ptx_mbarrier_t *add(ptx_block_t *block)
{
    ptx_mbarrier_t *mbarriers = rungi_ptx_grow(block->mbarriers, (int64_t)block->mbarrier_count + 1,
                                               &block->mbarrier_capacity, sizeof *mbarriers);
    if (!mbarriers)
        return NULL;
    block->mbarriers = mbarriers;
    return &block->mbarriers[block->mbarrier_count++];
}

/* Makes an address of the executing block an offset. Reports one that is not valid. */
static bool find_own(ptx_warp_t *warp, int lane, uint64_t *address)
{
    uint64_t written = *address;
    const ptx_block_t *block = rungi_ptx_cluster_block(warp->block, address);
    if (block == warp->block && *address % 8 == 0 && *address + 8 <= (uint64_t)block->shared_bytes)
        return true;
    rungi_ptx_report(warp, *address % 8 ? RUNG_EMULATOR_MISALIGNED : RUNG_EMULATOR_OUT_OF_BOUNDS, lane, written, 8,
                     "an mbarrier at 0x%llx; its address is a multiple of 8 in the shared memory of its own block",
                     (unsigned long long)written);
    return false;
}

void rungi_ptx_mbarrier_init(ptx_warp_t *warp, int lane, uint64_t address, uint32_t count)
{
    ptx_block_t *block = warp->block;
    if (!find_own(warp, lane, &address))
        return;
    if (count < 1 || count > COUNT_MAX) {
        rungi_ptx_report(warp, RUNG_EMULATOR_BARRIER, lane, address, 8,
                         "mbarrier.init with %u arrivals; 1 to %d are valid", count, COUNT_MAX);
        return;
    }
    uint64_t init = rungi_ptx_check_mbarrier_write(warp, lane, address);
    ptx_mbarrier_t *mbarrier = find(block, address);
    uint32_t *clocks = mbarrier ? mbarrier->clocks : NULL;
    if (!mbarrier)
        mbarrier = add(block);
    if (warp->is_checked && !clocks)
        clocks = malloc(2 * clock_length(block) * sizeof *clocks);
    if (!mbarrier || (warp->is_checked && !clocks)) {
        if (mbarrier)
            mbarrier->clocks = NULL;
        fault_memory(warp, lane);
        return;
    }
    if (clocks)
        memset(clocks, 0, 2 * clock_length(block) * sizeof *clocks);
    *mbarrier = (ptx_mbarrier_t){
        .offset = (uint32_t)address, .expected = count, .pending = count, .init = init, .clocks = clocks};
}

void rungi_ptx_mbarrier_invalidate(ptx_warp_t *warp, int lane, uint64_t address)
{
    ptx_block_t *block;
    ptx_mbarrier_t *mbarrier = rungi_ptx_mbarrier_find(warp, lane, address, &block);
    if (!mbarrier)
        return;
    rungi_ptx_check_mbarrier_write(warp, lane, mbarrier->offset);
    free(mbarrier->clocks);
    *mbarrier = block->mbarriers[--block->mbarrier_count];
}

ptx_mbarrier_t *rungi_ptx_mbarrier_find(ptx_warp_t *warp, int lane, uint64_t address, ptx_block_t **block)
{
    uint64_t offset = address;
    *block = rungi_ptx_cluster_block(warp->block, &offset);
    ptx_mbarrier_t *found = *block ? find(*block, offset) : NULL;
    if (found && *block == warp->block)
        rungi_ptx_check_mbarrier_use(warp, lane, offset, found->init);
    if (!found)
        rungi_ptx_report(warp, RUNG_EMULATOR_BARRIER, lane, address, 8,
                         "no mbarrier was initialized at byte offset %llu of the shared memory of %s",
                         (unsigned long long)offset,
                         *block == warp->block ? "the block" : "another block of the cluster");
    return found;
}

/* ---- Arrivals ------------------------------------------------------------------------------------------------------ */

static void complete_phase(const ptx_block_t *block, ptx_mbarrier_t *mbarrier)
{
    if (mbarrier->pending > 0 || mbarrier->bytes != 0)
        return;
    mbarrier->phase++;
    mbarrier->pending = mbarrier->expected;
    if (!mbarrier->clocks)
        return;
    size_t length = clock_length(block);
    memcpy(mbarrier->clocks + length, mbarrier->clocks, length * sizeof *mbarrier->clocks);
    memset(mbarrier->clocks, 0, length * sizeof *mbarrier->clocks);
}

static void report_counts(ptx_warp_t *warp, int lane, const ptx_mbarrier_t *mbarrier,
                          const ptx_mbarrier_arrival_t *arrival)
{
    if (arrival->count > mbarrier->pending)
        rungi_ptx_report(warp, RUNG_EMULATOR_BARRIER, lane, mbarrier->offset, 8,
                         "%u threads arrive at an mbarrier that expects %u more in this phase (%u in each)",
                         arrival->count, mbarrier->pending, mbarrier->expected);
    if (mbarrier->bytes + arrival->bytes > BYTES_MAX || mbarrier->bytes + arrival->bytes < -BYTES_MAX)
        rungi_ptx_report(warp, RUNG_EMULATOR_BARRIER, lane, mbarrier->offset, 8,
                         "an mbarrier expects %lld bytes; the maximum is %d",
                         (long long)mbarrier->bytes + arrival->bytes, BYTES_MAX);
    if (arrival->must_not_complete && arrival->count == mbarrier->pending && mbarrier->bytes + arrival->bytes == 0)
        rungi_ptx_report(warp, RUNG_EMULATOR_BARRIER, lane, mbarrier->offset, 8,
                         "an arrival with .noComplete completes the phase of an mbarrier");
}

uint64_t rungi_ptx_mbarrier_arrive(ptx_warp_t *warp, int lane, uint64_t address, const ptx_mbarrier_arrival_t *arrival)
{
    ptx_block_t *block;
    ptx_mbarrier_t *mbarrier = rungi_ptx_mbarrier_find(warp, lane, address, &block);
    if (!mbarrier)
        return 0;
    uint64_t state = (uint64_t)mbarrier->phase << PHASE_SHIFT | mbarrier->pending;
    warp->block->cluster->events++;
    report_counts(warp, lane, mbarrier, arrival);
    uint32_t count = arrival->count > mbarrier->pending ? mbarrier->pending : arrival->count;
    mbarrier->bytes += arrival->bytes;
    mbarrier->pending -= count;
    if (arrival->is_drop)
        mbarrier->expected -= count > mbarrier->expected ? mbarrier->expected : count;
    bool is_seen = mbarrier->clocks && arrival->count > 0;
    if (is_seen && arrival->is_relaxed) /* only threads of the mbarrier's block wait for it */
        rungi_ptx_check_relaxed_release(warp, mbarrier->clocks, block == warp->block);
    else if (is_seen)
        rungi_ptx_check_release(warp, mbarrier->clocks);
    complete_phase(block, mbarrier);
    return state;
}

uint32_t rungi_ptx_mbarrier_pending(uint64_t state)
{
    return (uint32_t)state & COUNT_MAX;
}

/* ---- Waits --------------------------------------------------------------------------------------------------------- */

static bool has_completed(const ptx_mbarrier_t *mbarrier, const uint64_t *state, const uint32_t *parity, int lane)
{
    if (state)
        return mbarrier->phase != (uint32_t)(state[lane] >> PHASE_SHIFT);
    return (mbarrier->phase & 1) != (parity[lane] & 1);
}

uint32_t rungi_ptx_mbarrier_test(ptx_warp_t *warp, uint32_t mask, const uint64_t address[PTX_WARP_LANES],
                                 const uint64_t *state, const uint32_t *parity, bool is_relaxed)
{
    uint32_t completed = 0;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        ptx_block_t *block;
        int lane = __builtin_ctz(lanes);
        ptx_mbarrier_t *mbarrier = rungi_ptx_mbarrier_find(warp, lane, address[lane], &block);
        if (!mbarrier || block != warp->block) { /* reported, or a wait in another block, which PTX does not have */
            completed |= 1u << lane;
            continue;
        }
        if (!has_completed(mbarrier, state, parity, lane)) {
            uint32_t together = 0; /* lanes that wait for the same mbarrier */
            for (uint32_t others = lanes; others; others &= others - 1)
                together |= (uint32_t)(address[__builtin_ctz(others)] == address[lane]) << __builtin_ctz(others);
            rungi_ptx_bulk_copies_land(warp, together, mbarrier->offset);
        }
        if (!has_completed(mbarrier, state, parity, lane))
            continue;
        completed |= 1u << lane;
        if (mbarrier->clocks && !is_relaxed)
            rungi_ptx_check_acquire(warp, 1u << lane, mbarrier->clocks + clock_length(block));
    }
    return completed;
}

void rungi_ptx_mbarrier_landed(ptx_warp_t *warp, const ptx_bulk_copy_t *copy)
{
    ptx_mbarrier_t *mbarrier = find(copy->block, copy->mbarrier);
    if (!mbarrier)
        return;
    if (mbarrier->clocks) /* the warp that waits stands for the copy */
        rungi_ptx_check_landed_clock(warp, mbarrier->clocks);
    if (copy->arrival)
        mbarrier->pending -= mbarrier->pending > 0;
    else
        mbarrier->bytes -= copy->bytes;
    complete_phase(copy->block, mbarrier);
}
