/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - runs the blocks of a launch on several threads. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/counts/counts.h"
#include "emulator/machine/cluster.h"
#include "emulator/machine/emulator.h"

typedef struct worker {
    ptx_launch_t *launch;
    pthread_t thread;
    ptx_cluster_t cluster;
    rung_status status;
    int64_t cluster_count;
    int index;
} worker_t;

/* Takes clusters, which are single blocks in most launches, from the grid until none is left. */
static void *run_blocks(void *user)
{
    worker_t *worker = user;
    worker->status = rungi_ptx_cluster_create(&worker->cluster, worker->launch, worker->index);
    while (worker->status == RUNG_OK && !atomic_load(&worker->launch->has_failed)) {
        int64_t id = atomic_fetch_add(&worker->launch->next_block, 1);
        if (id >= worker->cluster_count || !rungi_ptx_cluster_run(&worker->cluster, id))
            break;
    }
    if (worker->status == RUNG_OK && worker->cluster.lacks_memory) {
        worker->status = RUNG_STATUS_NO_MEMORY;
        atomic_store(&worker->launch->has_failed, true);
    }
    return NULL;
}

/* Adds what the warps of a block have counted to the launch. */
static void collect(ptx_launch_t *launch, const ptx_block_t *block)
{
    for (int i = 0; block->warps && i < block->warp_count; i++) {
        const ptx_warp_t *warp = &block->warps[i];
        launch->totals.warp_instructions += warp->instructions;
        launch->totals.thread_instructions += warp->thread_instructions;
        launch->totals.divergent_branches += warp->divergent_branches;
        launch->totals.barriers += warp->barriers;
    }
}

/* Hands the totals and the workers' counters to the emulator, and frees the workers' blocks. */
static rung_status finish(ptx_launch_t *launch, worker_t *workers, int count)
{
    int blocks = rungi_ptx_cluster_size(launch);
    ptx_counter_t **counters = calloc((size_t)count * (size_t)blocks, sizeof *counters);
    rung_status status = RUNG_OK;
    int counter_count = 0;
    for (int i = 0; i < count; i++)
        for (int b = 0; b < workers[i].cluster.count; b++) {
            collect(launch, &workers[i].cluster.blocks[b]);
            if (counters)
                counters[counter_count++] = workers[i].cluster.blocks[b].counter;
        }
    if (counters)
        status = rungi_ptx_counts_add(launch, counters, counter_count);
    for (int i = 0; i < count; i++)
        rungi_ptx_cluster_free(&workers[i].cluster);
    free(counters);
    return counters ? status : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the counts of a launch");
}

rung_status rungi_ptx_launch(ptx_launch_t *launch, int threads)
{
    TRY(rungi_ptx_check_launch_start(launch, &threads));
    int64_t clusters = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] / rungi_ptx_cluster_size(launch);
    int count = clusters < threads ? (int)clusters : threads, started = 1;
    worker_t *workers = calloc((size_t)count, sizeof *workers);
    rung_status status = RUNG_OK;
    if (!workers) {
        rungi_ptx_check_launch_end(launch);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a launch");
    }
    for (int i = 0; i < count; i++)
        workers[i] = (worker_t){.launch = launch, .cluster_count = clusters, .index = i};
    while (started < count && pthread_create(&workers[started].thread, NULL, run_blocks, &workers[started]) == 0)
        started++;
    run_blocks(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < started; i++) {
        if (workers[i].status != RUNG_OK)
            status = workers[i].status;
    }
    rung_status counted = finish(launch, workers, started);
    free(workers);
    rungi_ptx_check_launch_end(launch);
    if (status != RUNG_OK) /* the text was set in another thread */
        return rungi_fail(status, "no memory for the blocks of a launch");
    return counted;
}
