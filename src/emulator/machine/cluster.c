/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - see cluster.h. */
#include "emulator/machine/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/checks/checks.h"
#include "emulator/machine/splits.h"

int rungi_ptx_cluster_size(const ptx_launch_t *launch)
{
    return (int)(launch->cluster[0] * launch->cluster[1] * launch->cluster[2]);
}

rung_status rungi_ptx_cluster_create(ptx_cluster_t *cluster, ptx_launch_t *launch, int worker)
{
    int count = rungi_ptx_cluster_size(launch);
    *cluster = (ptx_cluster_t){.launch = launch};
    cluster->blocks = calloc((size_t)count, sizeof *cluster->blocks);
    if (!cluster->blocks)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a cluster of %d blocks", count);
    for (cluster->count = 0; cluster->count < count; cluster->count++) {
        ptx_block_t *block = &cluster->blocks[cluster->count];
        rung_status status = rungi_ptx_block_create(block, launch, worker, cluster, cluster->count);
        if (status != RUNG_OK) {
            cluster->count++; /* what the block has allocated is freed with the others */
            return status;
        }
    }
    size_t warps = (size_t)count * (size_t)cluster->blocks[0].warp_count;
    cluster->arrival_clock = calloc(warps, sizeof *cluster->arrival_clock);
    cluster->phase_clock = calloc(warps, sizeof *cluster->phase_clock);
    if (!cluster->arrival_clock || !cluster->phase_clock)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a cluster of %d blocks", count);
    return RUNG_OK;
}

static void forget_copies(ptx_cluster_t *cluster)
{
    for (int i = 0; i < cluster->copy_count; i++)
        free(cluster->copies[i].data);
    cluster->copy_count = 0;
}

void rungi_ptx_cluster_free(ptx_cluster_t *cluster)
{
    forget_copies(cluster);
    for (int i = 0; i < cluster->count; i++)
        rungi_ptx_block_free(&cluster->blocks[i]);
    free(cluster->blocks);
    free(cluster->arrival_clock);
    free(cluster->phase_clock);
    free(cluster->copies);
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */

static bool start(ptx_cluster_t *cluster, int64_t linear_id)
{
    const ptx_launch_t *launch = cluster->launch;
    const uint32_t *size = launch->cluster;
    int64_t across = launch->grid[0] / size[0], down = launch->grid[1] / size[1];
    const uint32_t first[3] = {(uint32_t)(linear_id % across) * size[0],
                               (uint32_t)(linear_id / across % down) * size[1],
                               (uint32_t)(linear_id / across / down) * size[2]};
    size_t warps = (size_t)cluster->count * (size_t)cluster->blocks[0].warp_count;
    cluster->arrived = cluster->phase = 0;
    cluster->times_out = false;
    memset(cluster->arrival_clock, 0, warps * sizeof *cluster->arrival_clock);
    memset(cluster->phase_clock, 0, warps * sizeof *cluster->phase_clock);
    forget_copies(cluster);
    for (uint32_t rank = 0; rank < (uint32_t)cluster->count; rank++) {
        const uint32_t id[3] = {first[0] + rank % size[0], first[1] + rank / size[0] % size[1],
                                first[2] + rank / size[0] / size[1]};
        if (!rungi_ptx_block_start(&cluster->blocks[rank], id))
            return false;
    }
    return true;
}

/* Lanes that wait for others where divergent branches meet continue, before a deadlock is reported: one of them may be
 * what a wait is for. */
static bool release_lanes(ptx_cluster_t *cluster)
{
    bool has_released = false;
    for (int b = 0; b < cluster->count; b++)
        for (int w = 0; w < cluster->blocks[b].warp_count; w++) {
            ptx_warp_t *warp = &cluster->blocks[b].warps[w];
            for (int i = 0; i < warp->split_count; i++)
                if (warp->splits[i].state == PTX_WAITING) {
                    has_released = rungi_ptx_release_waiting(warp) || has_released;
                    break;
                }
        }
    return has_released;
}

/* Runs each block that has not ended once. Returns whether one of them made progress. */
static bool step(ptx_cluster_t *cluster, bool *finished, ptx_block_t **waiting)
{
    bool has_progress = false;
    *finished = true;
    for (int i = 0; i < cluster->count; i++) {
        bool has_ended;
        ptx_block_t *block = &cluster->blocks[i];
        has_progress = rungi_ptx_block_step(block, &has_ended) || has_progress;
        if (atomic_load_explicit(&cluster->launch->has_failed, memory_order_relaxed))
            return false;
        if (!has_ended && *finished)
            *waiting = block;
        *finished = *finished && has_ended;
    }
    return has_progress;
}

/* Nothing has happened for some rounds. Waits that may give up do so a few times, since their warps may have other work;
 * then lanes that wait for others in divergent code continue. Returns false if that does not help. */
static bool end_idleness(ptx_cluster_t *cluster, int *attempts)
{
    enum { ATTEMPTS_MAX = 16 };
    if ((*attempts)++ < ATTEMPTS_MAX) {
        cluster->times_out = true;
        return true;
    }
    return release_lanes(cluster);
}

bool rungi_ptx_cluster_run(ptx_cluster_t *cluster, int64_t linear_id)
{
    enum { IDLE_ROUNDS_MAX = 2 };
    bool is_finished = false;
    int idle_rounds = 0, attempts = 0;
    ptx_block_t *waiting = &cluster->blocks[0];
    if (!start(cluster, linear_id)) {
        cluster->lacks_memory = true;
        return false;
    }
    while (!is_finished) {
        int64_t events = cluster->events;
        bool has_progress = step(cluster, &is_finished, &waiting);
        if (atomic_load_explicit(&cluster->launch->has_failed, memory_order_relaxed))
            return false;
        cluster->times_out = false;
        idle_rounds = has_progress ? 0 : idle_rounds + 1;
        attempts = events != cluster->events ? 0 : attempts;
        if (idle_rounds > IDLE_ROUNDS_MAX && !is_finished) {
            if (!end_idleness(cluster, &attempts)) {
                rungi_ptx_check_deadlock(waiting);
                return false;
            }
            idle_rounds = 0;
        }
    }
    rungi_ptx_check_cluster_end(cluster);
    for (int i = 0; i < cluster->count; i++)
        rungi_ptx_check_block_end(&cluster->blocks[i]);
    return true;
}

/* ---- The barrier --------------------------------------------------------------------------------------------------- */

/* Completes the phase once all threads that have not exited have arrived. */
static void complete_phase(ptx_cluster_t *cluster)
{
    uint32_t threads = 0;
    for (int i = 0; i < cluster->count; i++)
        threads += (uint32_t)cluster->blocks[i].thread_count - cluster->blocks[i].exited;
    if (cluster->arrived == 0 || cluster->arrived < threads)
        return;
    size_t bytes = (size_t)cluster->count * (size_t)cluster->blocks[0].warp_count * sizeof *cluster->phase_clock;
    cluster->arrived = 0;
    cluster->phase++;
    memcpy(cluster->phase_clock, cluster->arrival_clock, bytes);
    memset(cluster->arrival_clock, 0, bytes);
    for (int i = 0; i < cluster->count; i++)
        rungi_ptx_check_cluster_phase(&cluster->blocks[i]);
}

void rungi_ptx_cluster_arrive(ptx_warp_t *warp, uint32_t mask, bool is_relaxed)
{
    ptx_cluster_t *cluster = warp->block->cluster;
    warp->barriers++;
    cluster->events++;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            warp->cluster_phase[lane] = cluster->phase;
    cluster->arrived += (uint32_t)__builtin_popcount(mask);
    rungi_ptx_check_cluster_arrive(warp, cluster->arrival_clock, is_relaxed);
    complete_phase(cluster);
}

bool rungi_ptx_cluster_wait(ptx_warp_t *warp, uint32_t mask)
{
    ptx_cluster_t *cluster = warp->block->cluster;
    complete_phase(cluster); /* threads may have exited */
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if ((mask >> lane & 1) && warp->cluster_phase[lane] == cluster->phase)
            return false;
    rungi_ptx_check_cluster_wait(warp, mask, cluster->phase_clock);
    return true;
}

/* ---- Distributed shared memory ------------------------------------------------------------------------------------- */

ptx_block_t *rungi_ptx_cluster_block(ptx_block_t *block, uint64_t *address)
{
    uint64_t rank = *address >> PTX_SHARED_RANK_SHIFT;
    if (rank > (uint64_t)block->cluster->count)
        return NULL;
    *address &= (UINT64_C(1) << PTX_SHARED_RANK_SHIFT) - 1;
    return rank ? &block->cluster->blocks[rank - 1] : block;
}
