/* SPDX-License-Identifier: Apache-2.0 */
/* barriers.c - see barriers.h. A barrier counts threads, as bar.sync with a thread count does on the hardware. */
#include "emulator/machine/barriers.h"

#include "emulator/machine/cluster.h"
#include "emulator/ptx/barrier_operations.h"

static uint32_t first_lane_value(const ptx_warp_t *warp, ptx_operand_t operand, uint32_t mask)
{
    const uint32_t *lanes = rungi_ptx_lanes(warp, operand);
    return lanes[__builtin_ctz(mask)];
}

/* Adds the lanes' predicates to the barrier's reduction. */
static void reduce(ptx_barrier_t *barrier, const ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask)
{
    uint32_t predicate = rungi_ptx_predicate(warp, instruction->operand[3]);
    uint32_t true_lanes = (predicate ^ (instruction->flags & PTX_FLAG_NEGATE_A ? ~0u : 0u)) & mask;
    barrier->reduced += (uint32_t)__builtin_popcount(true_lanes);
}

bool rungi_ptx_barrier_arrive(ptx_warp_t *warp, ptx_split_t *split, const ptx_instruction_t *instruction, uint32_t mask)
{
    split->pc++;
    if (mask == 0)
        return true;
    uint32_t id = first_lane_value(warp, instruction->operand[1], mask);
    uint32_t threads = instruction->operand[2] ? first_lane_value(warp, instruction->operand[2], mask) : 0;
    if (id >= PTX_BARRIERS || threads % PTX_WARP_LANES != 0) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_BARRIER, __builtin_ctz(mask),
                        "barrier %u with %u threads; a block has barriers 0 to 15, and the number is a multiple of 32",
                        id, threads);
        return false;
    }
    ptx_barrier_t *barrier = &warp->block->barriers[id];
    warp->barriers++;
    warp->block->cluster->events++;
    barrier->expected = threads;
    barrier->arrived += (uint32_t)__builtin_popcount(mask);
    if (threads && (mask & warp->live & -warp->live)) /* a warp counts as 32 threads, even if some have exited */
        barrier->arrived += (uint32_t)__builtin_popcount(~warp->live);
    if (instruction->operation >= PTX_BARRIER_RED_POPC)
        reduce(barrier, warp, instruction, mask);
    if (warp->is_checked)
        rungi_ptx_check_barrier_arrive(warp, (int)id);
    if (instruction->operation == PTX_BARRIER_ARRIVE)
        return true;
    split->state = PTX_AT_BARRIER;
    split->barrier = (int)id;
    return false;
}

/* Writes the result of bar.red to the lanes of a split that waits behind it. */
static void write_result(ptx_warp_t *warp, const ptx_split_t *split, const ptx_barrier_t *barrier, uint32_t threads)
{
    const ptx_instruction_t *instruction = &warp->block->launch->module->instructions[split->pc - 1];
    if (instruction->operation < PTX_BARRIER_RED_POPC)
        return;
    warp->base[PTX_BASE_FRAME] = split->frame->registers;
    if (instruction->operation == PTX_BARRIER_RED_POPC) {
        uint32_t *lanes = rungi_ptx_lanes(warp, instruction->operand[0]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            if (split->mask >> lane & 1)
                lanes[lane] = barrier->reduced;
        return;
    }
    bool is_true = instruction->operation == PTX_BARRIER_RED_AND ? barrier->reduced == threads : barrier->reduced > 0;
    rungi_ptx_set_predicate(warp, instruction->operand[0], is_true ? ~0u : 0u, split->mask);
}

static void release(ptx_block_t *block, int id, uint32_t threads)
{
    ptx_barrier_t *barrier = &block->barriers[id];
    for (int w = 0; w < block->warp_count; w++)
        for (int i = 0; i < block->warps[w].split_count; i++) {
            ptx_split_t *split = &block->warps[w].splits[i];
            if (split->state == PTX_AT_BARRIER && split->barrier == id) {
                split->state = PTX_RUNNABLE;
                write_result(&block->warps[w], split, barrier, threads);
            }
        }
    *barrier = (ptx_barrier_t){0};
}

bool rungi_ptx_barriers_release(ptx_block_t *block)
{
    bool has_released = false;
    for (int id = 0; id < PTX_BARRIERS; id++) {
        const ptx_barrier_t *barrier = &block->barriers[id];
        uint32_t threads = barrier->expected ? barrier->expected : (uint32_t)block->thread_count - block->exited;
        if (barrier->arrived == 0 || barrier->arrived < threads)
            continue;
        rungi_ptx_check_barrier(block, id);
        release(block, id, threads);
        has_released = true;
    }
    return has_released;
}
