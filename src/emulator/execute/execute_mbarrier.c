/* SPDX-License-Identifier: Apache-2.0 */
/* execute_mbarrier.c - clusters and mbarriers. The work is done in machine/; lanes are executed one by one, so that this file
 * is compiled once for all processors. */
#define PTX_VARIANT common
#include "emulator/execute/execute.h"

#include "emulator/checks/checks.h"
#include "emulator/machine/cluster.h"
#include "emulator/machine/mbarrier.h"
#include "emulator/ptx/hopper_operations.h"

/* ---- Clusters ------------------------------------------------------------------------------------------------------ */

/* Returns the address of the same variable in the block of a rank, in the shared::cluster window. */
static uint64_t map_address(ptx_warp_t *warp, int lane, uint64_t address, uint32_t rank)
{
    uint64_t window = address - PTX_SHARED_WINDOW < PTX_WINDOW_BYTES ? PTX_SHARED_WINDOW : 0;
    uint64_t offset = (address - window) & ((UINT64_C(1) << PTX_SHARED_RANK_SHIFT) - 1);
    if (rank >= (uint32_t)warp->block->cluster->count)
        rungi_ptx_report(warp, RUNG_EMULATOR_OUT_OF_BOUNDS, lane, address, 0,
                         "mapa to rank %u of a cluster of %d blocks", rank, warp->block->cluster->count);
    return window + ((uint64_t)(rank + 1) << PTX_SHARED_RANK_SHIFT) + offset;
}

static uint32_t rank_of(const ptx_warp_t *warp, uint64_t address)
{
    uint64_t window = address - PTX_SHARED_WINDOW < PTX_WINDOW_BYTES ? PTX_SHARED_WINDOW : 0;
    uint32_t rank = (uint32_t)((address - window) >> PTX_SHARED_RANK_SHIFT);
    return rank ? rank - 1 : warp->block->cluster_rank;
}

#define CLUSTER_ADDRESS(bits, U)                                        \
    EXECUTOR(mapa_b##bits)                                              \
    {                                                                   \
        U *d = OPERAND(0);                                              \
        const U *a = OPERAND(1);                                        \
        const uint32_t *b = OPERAND(2);                                 \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)               \
            if (mask >> lane & 1)                                       \
                d[lane] = (U)map_address(warp, lane, a[lane], b[lane]); \
    }                                                                   \
    EXECUTOR(getctarank_b##bits)                                        \
    {                                                                   \
        uint32_t *d = OPERAND(0);                                       \
        const U *a = OPERAND(1);                                        \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)               \
            if (mask >> lane & 1)                                       \
                d[lane] = rank_of(warp, a[lane]);                       \
    }
CLUSTER_ADDRESS(32, uint32_t)
CLUSTER_ADDRESS(64, uint64_t)

EXECUTOR(cluster_arrive)
{
    rungi_ptx_cluster_arrive(warp, mask, instruction->flags & PTX_FLAG_RELAXED);
}

EXECUTOR(cluster_wait)
{
    (void)instruction;
    warp->must_wait = !rungi_ptx_cluster_wait(warp, mask);
}

/* ---- mbarriers ----------------------------------------------------------------------------------------------------- */

/* Reads the addresses of mbarriers. Generic ones become offsets in the shared::cluster window. */
static void read_mbarriers(const ptx_warp_t *warp, const ptx_instruction_t *instruction,
                           uint64_t address[PTX_WARP_LANES])
{
    rungi_ptx_read_addresses(warp, instruction, 1, address);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        rungi_ptx_resolve_space((ptx_space_t)instruction->space, &address[lane]);
}

EXECUTOR(mbarrier)
{
    uint64_t address[PTX_WARP_LANES];
    const uint32_t *number = instruction->operand[2] ? OPERAND(2) : NULL;
    read_mbarriers(warp, instruction, address);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        ptx_mbarrier_arrival_t arrival = {.is_relaxed = true};
        if (!(mask >> lane & 1))
            continue;
        switch ((ptx_mbarrier_operation_t)instruction->operation) {
        case PTX_MBARRIER_INIT: rungi_ptx_mbarrier_init(warp, lane, address[lane], number[lane]); break;
        case PTX_MBARRIER_INVALIDATE: rungi_ptx_mbarrier_invalidate(warp, lane, address[lane]); break;
        case PTX_MBARRIER_EXPECT:
            arrival.bytes = number[lane];
            rungi_ptx_mbarrier_arrive(warp, lane, address[lane], &arrival);
            break;
        case PTX_MBARRIER_COMPLETE:
            arrival.bytes = -(int64_t)number[lane];
            rungi_ptx_mbarrier_arrive(warp, lane, address[lane], &arrival);
            break;
        }
    }
}

EXECUTOR(mbarrier_arrive)
{
    uint64_t address[PTX_WARP_LANES], *state = instruction->operand[0] ? OPERAND(0) : NULL;
    const uint32_t *number = instruction->operand[2] ? OPERAND(2) : NULL;
    bool expects = instruction->operation & PTX_ARRIVE_EXPECTS;
    read_mbarriers(warp, instruction, address);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        ptx_mbarrier_arrival_t arrival = {.count = number && !expects ? number[lane] : 1,
                                          .bytes = expects ? number[lane] : 0,
                                          .is_drop = instruction->operation & PTX_ARRIVE_DROPS,
                                          .must_not_complete = instruction->operation & PTX_ARRIVE_NO_COMPLETE,
                                          .is_relaxed = instruction->flags & PTX_FLAG_RELAXED};
        uint64_t before = rungi_ptx_mbarrier_arrive(warp, lane, address[lane], &arrival);
        if (state)
            state[lane] = before;
    }
}

/* A wait that fails lets other warps run. try_wait waits until a lane succeeds or the cluster is idle; test_wait fails when
 * the others have run once. */
EXECUTOR(mbarrier_wait)
{
    uint64_t address[PTX_WARP_LANES];
    bool has_parity = instruction->operation & PTX_WAIT_PARITY, blocks = instruction->operation & PTX_WAIT_BLOCKS;
    read_mbarriers(warp, instruction, address);
    uint32_t completed = rungi_ptx_mbarrier_test(warp, mask, address, has_parity ? NULL : OPERAND(2),
                                                 has_parity ? OPERAND(2) : NULL, instruction->flags & PTX_FLAG_RELAXED);
    if (!completed && (!warp->is_retried || (blocks && !warp->block->cluster->times_out))) {
        warp->must_wait = true;
        return;
    }
    rungi_ptx_set_predicate(warp, instruction->operand[0], completed, mask);
}

EXECUTOR(mbarrier_pending_count)
{
    uint32_t *d = OPERAND(0);
    const uint64_t *state = OPERAND(1);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            d[lane] = rungi_ptx_mbarrier_pending(state[lane]);
}

/* The arrival happens when all earlier copies of the thread have landed. Without .noinc, it is not counted by the
 * initial number of arrivals. */
EXECUTOR(cp_async_mbarrier_arrive)
{
    uint64_t address[PTX_WARP_LANES];
    read_mbarriers(warp, instruction, address);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        ptx_block_t *block;
        if (!(mask >> lane & 1))
            continue;
        ptx_mbarrier_t *mbarrier = rungi_ptx_mbarrier_find(warp, lane, address[lane], &block);
        ptx_bulk_copy_t *copy = mbarrier ? rungi_ptx_bulk_copy_add(warp) : NULL;
        if (!copy)
            continue;
        mbarrier->pending += !instruction->operation;
        if (mbarrier->clocks)
            rungi_ptx_check_release(warp, mbarrier->clocks);
        copy->block = block;
        copy->mbarrier = mbarrier->offset;
        copy->thread = PTX_WARP_LANES * warp->index + lane;
        copy->arrival = warp;
        copy->arrival_count = warp->copy_arrivals[lane]++;
    }
}

/* Orders earlier writes of the generic proxy for the asynchronous proxy. */
EXECUTOR(fence_proxy_async)
{
    (void)instruction;
    (void)mask;
    rungi_ptx_check_proxy_fence(warp);
}

PTX_EXECUTORS(mbarrier) = {E(mapa_b32),
                           E(mapa_b64),
                           E(getctarank_b32),
                           E(getctarank_b64),
                           E(cluster_arrive),
                           E(cluster_wait),
                           E(mbarrier),
                           E(mbarrier_arrive),
                           E(mbarrier_wait),
                           E(mbarrier_pending_count),
                           E(cp_async_mbarrier_arrive),
                           E(fence_proxy_async),
                           {NULL, NULL}};
