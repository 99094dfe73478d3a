/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - runs the warps of one block in turn. */
#include <stdlib.h>
#include <string.h>

#include "base/aligned_memory.h"
#include "base/error.h"
#include "emulator/counts/counts.h"
#include "emulator/machine/barriers.h"
#include "emulator/machine/cluster.h"
#include "emulator/machine/emulator.h"
#include "emulator/machine/mbarrier.h"

/* Instructions of one warp before the next one runs. Large, so that a warp's registers stay in the cache; finite, since a
 * warp may wait for another one in a loop. */
enum { WARP_BUDGET = 100000, COOPERATIVE_BUDGET = 2000 /* warps of other blocks are often what a loop waits for */ };

/* ---- Creation ------------------------------------------------------------------------------------------------------ */

static uint32_t *special(const ptx_warp_t *warp, ptx_special_t index)
{
    return (uint32_t *)(void *)(warp->special + (size_t)index * PTX_SPECIAL_BYTES);
}

static void fill(const ptx_warp_t *warp, ptx_special_t index, uint32_t value)
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        special(warp, index)[lane] = value;
}

/* Returns the size of clusters that the kernel sees. */
static uint32_t visible_cluster(const ptx_launch_t *launch, int axis)
{
    return launch->is_cooperative ? 1 : launch->cluster[axis];
}

/* Sets the special registers that are the same for every block. */
static void set_constant_registers(ptx_warp_t *warp)
{
    const ptx_launch_t *launch = warp->block->launch;
    for (int i = 0; i < 3; i++) {
        fill(warp, PTX_SPECIAL_NTID_X + (ptx_special_t)i, launch->size[i]);
        fill(warp, PTX_SPECIAL_NCTAID_X + (ptx_special_t)i, launch->grid[i]);
        fill(warp, PTX_SPECIAL_NCLUSTERID_X + (ptx_special_t)i, launch->grid[i] / visible_cluster(launch, i));
        fill(warp, PTX_SPECIAL_CLUSTER_NCTAID_X + (ptx_special_t)i, visible_cluster(launch, i));
    }
    fill(warp, PTX_SPECIAL_WARPID, (uint32_t)warp->index);
    fill(warp, PTX_SPECIAL_NWARPID, (uint32_t)warp->block->warp_count);
    fill(warp, PTX_SPECIAL_NSMID, 1);
    fill(warp, PTX_SPECIAL_WARP_SZ, PTX_WARP_LANES);
    fill(warp, PTX_SPECIAL_DYNAMIC_SMEM_SIZE, (uint32_t)launch->dynamic_shared_bytes);
    fill(warp, PTX_SPECIAL_TOTAL_SMEM_SIZE,
         (uint32_t)(launch->kernel->static_shared_bytes + launch->dynamic_shared_bytes));
    fill(warp, PTX_SPECIAL_IS_EXPLICIT_CLUSTER, launch->has_explicit_cluster ? ~0u : 0u);
    fill(warp, PTX_SPECIAL_CLUSTER_NCTARANK,
         visible_cluster(launch, 0) * visible_cluster(launch, 1) * visible_cluster(launch, 2));
    fill(warp, PTX_SPECIAL_ENVREG1, (uint32_t)(launch->workspace >> 32));
    fill(warp, PTX_SPECIAL_ENVREG2, (uint32_t)launch->workspace);
    for (uint32_t lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint32_t thread = (uint32_t)(PTX_WARP_LANES * warp->index) + lane, bit = 1u << lane;
        special(warp, PTX_SPECIAL_TID_X)[lane] = thread % launch->size[0];
        special(warp, PTX_SPECIAL_TID_Y)[lane] = thread / launch->size[0] % launch->size[1];
        special(warp, PTX_SPECIAL_TID_Z)[lane] = thread / launch->size[0] / launch->size[1];
        special(warp, PTX_SPECIAL_LANEID)[lane] = lane;
        special(warp, PTX_SPECIAL_LANEMASK_EQ)[lane] = bit;
        special(warp, PTX_SPECIAL_LANEMASK_LT)[lane] = bit - 1;
        special(warp, PTX_SPECIAL_LANEMASK_LE)[lane] = bit | (bit - 1);
        special(warp, PTX_SPECIAL_LANEMASK_GE)[lane] = ~(bit - 1);
        special(warp, PTX_SPECIAL_LANEMASK_GT)[lane] = ~(bit | (bit - 1));
    }
}

static bool create_warp(ptx_block_t *block, int index)
{
    ptx_warp_t *warp = &block->warps[index];
    const ptx_launch_t *launch = block->launch;
    size_t special_bytes = (size_t)PTX_SPECIAL_COUNT * PTX_SPECIAL_BYTES;
    size_t cache_bytes = (sizeof *warp->matrix_cache + PTX_LANE_ARRAY_ALIGNMENT - 1) &
                         -(size_t)PTX_LANE_ARRAY_ALIGNMENT;
    warp->block = block;
    warp->index = index;
    warp->is_checked = launch->checks != 0;
    warp->is_counted = launch->counts;
    warp->is_observed = warp->is_checked || warp->is_counted;
    warp->free_frames = calloc((size_t)launch->module->function_count, sizeof *warp->free_frames);
    warp->special = rungi_aligned_allocate(PTX_LANE_ARRAY_ALIGNMENT, special_bytes + cache_bytes);
    warp->local = block->local_bytes ? malloc(PTX_WARP_LANES * (size_t)block->local_bytes) : NULL;
    if (launch->checks && block->local_bytes)
        warp->local_shadow = malloc(PTX_WARP_LANES * (size_t)block->local_bytes);
    bool has_local = !block->local_bytes || (warp->local && (!launch->checks || warp->local_shadow));
    if (!warp->free_frames || !warp->special || !has_local)
        return false;
    memset(warp->special, 0, special_bytes + cache_bytes);
    warp->matrix_cache = (ptx_matrix_cache_t *)(void *)(warp->special + special_bytes);
    set_constant_registers(warp);
    return true;
}

rung_status rungi_ptx_block_create(ptx_block_t *block, ptx_launch_t *launch, int worker, ptx_cluster_t *cluster,
                                   int rank)
{
    *block = (ptx_block_t){.launch = launch, .worker = worker, .cluster = cluster, .cluster_rank = (uint32_t)rank};
    block->thread_count = (int)(launch->size[0] * launch->size[1] * launch->size[2]);
    block->warp_count = (block->thread_count + PTX_WARP_LANES - 1) / PTX_WARP_LANES;
    block->local_bytes = launch->kernel->stack_bytes;
    block->shared_bytes = launch->kernel->uses_dynamic_shared || launch->dynamic_shared_bytes
                              ? launch->module->dynamic_shared_offset + launch->dynamic_shared_bytes
                              : launch->kernel->static_shared_bytes;
    if (block->shared_bytes < launch->kernel->static_shared_bytes)
        block->shared_bytes = launch->kernel->static_shared_bytes;
    block->warps = calloc((size_t)block->warp_count, sizeof *block->warps);
    block->shared = rungi_aligned_allocate(128, ((size_t)block->shared_bytes + 255) / 128 * 128);
    block->counter = launch->counts ? rungi_ptx_counter_create(launch) : NULL;
    bool has_memory = block->warps && block->shared && (!launch->counts || block->counter);
    for (int i = 0; has_memory && i < block->warp_count; i++)
        has_memory = create_warp(block, i);
    if (!has_memory)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a block of %d threads", block->thread_count);
    return launch->checks ? rungi_ptx_check_block_create(block) : RUNG_OK;
}

void rungi_ptx_block_free(ptx_block_t *block)
{
    for (int i = 0; block->warps && i < block->warp_count; i++)
        if (block->warps[i].block)
            rungi_ptx_warp_free(&block->warps[i]);
    rungi_ptx_check_block_free(block);
    rungi_ptx_mbarriers_free(block);
    free(block->warps);
    rungi_aligned_free(block->shared);
    rungi_ptx_counter_free(block->counter);
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */

bool rungi_ptx_block_start(ptx_block_t *block, const uint32_t id[3])
{
    const ptx_launch_t *launch = block->launch;
    memcpy(block->id, id, sizeof block->id);
    block->linear_id = id[0] + (int64_t)launch->grid[0] * (id[1] + (int64_t)launch->grid[1] * id[2]);
    block->exited = 0;
    rungi_ptx_mbarriers_clear(block);
    memset(block->barriers, 0, sizeof block->barriers);
    memset(block->shared, 0xcd, (size_t)block->shared_bytes); /* shared memory begins with arbitrary values */
    rungi_ptx_check_block_start(block);
    for (int i = 0; i < block->warp_count; i++) {
        ptx_warp_t *warp = &block->warps[i];
        for (int axis = 0; axis < 3; axis++) {
            uint32_t size = visible_cluster(launch, axis);
            fill(warp, PTX_SPECIAL_CTAID_X + (ptx_special_t)axis, id[axis]);
            fill(warp, PTX_SPECIAL_CLUSTERID_X + (ptx_special_t)axis, id[axis] / size);
            fill(warp, PTX_SPECIAL_CLUSTER_CTAID_X + (ptx_special_t)axis, id[axis] % size);
        }
        fill(warp, PTX_SPECIAL_CLUSTER_CTARANK, launch->is_cooperative ? 0 : block->cluster_rank);
        if (!rungi_ptx_warp_start(warp))
            return false;
    }
    return true;
}

/* Asks the caller whether the launch is to be stopped. */
static void poll_caller(ptx_launch_t *launch)
{
    const rung_emulator_options *options = &launch->emulator->options;
    if (!options->should_stop || options->should_stop(options->user) == 0)
        return;
    atomic_store(&launch->is_cancelled, true);
    atomic_store(&launch->has_failed, true);
}

/* Runs each warp once. Returns whether one of them made progress, and in `finished` whether all have ended. */
static bool run_round(ptx_block_t *block, bool *finished)
{
    bool has_progress = false;
    *finished = true;
    poll_caller(block->launch);
    for (int i = 0; i < block->warp_count; i++) {
        ptx_warp_t *warp = &block->warps[i];
        if (warp->split_count == 0)
            continue;
        int64_t before = warp->instructions;
        int64_t left = block->launch->max_instructions; /* a small maximum is meant as one */
        int budget = block->launch->is_cooperative ? COOPERATIVE_BUDGET : WARP_BUDGET;
        ptx_progress_t progress = rungi_ptx_warp_run(warp, left < budget ? (int)left + 1 : budget);
        *finished = *finished && progress == PTX_FINISHED;
        has_progress = has_progress || progress == PTX_FINISHED || progress == PTX_PAUSED ||
                       warp->instructions - before > 1;
        int64_t executed = warp->instructions - warp->first_instruction;
        if (executed > block->launch->max_instructions && progress != PTX_FINISHED)
            rungi_ptx_fault(warp, RUNG_EMULATOR_INFINITE_LOOP, 0,
                            "a warp has executed %lld instructions and does not end", (long long)executed);
        if (atomic_load_explicit(&block->launch->has_failed, memory_order_relaxed))
            return false;
    }
    return has_progress;
}

bool rungi_ptx_block_step(ptx_block_t *block, bool *finished)
{
    bool has_progress = run_round(block, finished);
    if (*finished || atomic_load_explicit(&block->launch->has_failed, memory_order_relaxed))
        return has_progress;
    return rungi_ptx_barriers_release(block) || has_progress;
}
