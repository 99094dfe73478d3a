/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - the blocks of a cluster, which run together: their barrier, distributed shared memory and bulk copies.
 *
 * A launch without clusters has clusters of one block. The blocks of a cluster belong to one thread of the host. */
#pragma once

#include "emulator/machine/machine.h"

/* A copy to shared memory, or an arrival, that completes at an mbarrier. It lands when a thread waits for the mbarrier and
 * not before, so that an access without the wait is found. */
typedef struct ptx_bulk_copy {
    ptx_block_t *block;           /* of the destination and of the mbarrier */
    uint32_t mbarrier, to, bytes; /* offsets in shared memory */
    int32_t pc;
    ptx_block_t *issuer;
    int32_t thread;
    ptx_warp_t *arrival;    /* of cp.async.mbarrier.arrive: the warp whose copies complete; else NULL */
    uint32_t arrival_count; /* the number of the arrival */
    bool is_reduction;      /* the data was combined with the memory when the copy was issued */
    unsigned char *data;
} ptx_bulk_copy_t;

struct ptx_cluster {
    ptx_launch_t *launch;
    ptx_block_t *blocks;
    int count;
    uint32_t arrived;        /* threads at the cluster's barrier */
    uint32_t phase;          /* completed phases of the barrier */
    uint32_t *arrival_clock; /* of the checks: what the threads that arrived have released */
    uint32_t *phase_clock;   /* of the last completed phase */
    int64_t events;          /* arrivals, copies and exits: what another warp may wait for */
    bool lacks_memory;       /* for the registers of a block: the launch fails, and its kernel is not at fault */
    bool times_out;          /* mbarrier.try_wait gives up, as its time limit lets it */
    ptx_bulk_copy_t *copies;
    int copy_count;
    int64_t copy_capacity;
};

/* Returns the number of blocks of a launch's clusters. */
int rungi_ptx_cluster_size(const ptx_launch_t *launch);

/* Creates the blocks of a cluster, and frees them. */
rung_status rungi_ptx_cluster_create(ptx_cluster_t *cluster, ptx_launch_t *launch, int worker);
void rungi_ptx_cluster_free(ptx_cluster_t *cluster);

/* Runs a cluster of the grid from start to end. Returns false if the launch has failed. */
bool rungi_ptx_cluster_run(ptx_cluster_t *cluster, int64_t linear_id);

/* Lanes arrive at the cluster's barrier. `is_relaxed` says that the arrival orders no memory accesses by itself. */
void rungi_ptx_cluster_arrive(ptx_warp_t *warp, uint32_t mask, bool is_relaxed);

/* Returns whether the phase in which the lanes arrived has completed. */
bool rungi_ptx_cluster_wait(ptx_warp_t *warp, uint32_t mask);

/* Finds the block of an address in the shared::cluster window and makes the address an offset in the block's memory. The
 * window holds the executing block's own memory at 0, and that of rank r at (r + 1) << PTX_SHARED_RANK_SHIFT. Returns NULL
 * if the cluster has no such block. */
ptx_block_t *rungi_ptx_cluster_block(ptx_block_t *block, uint64_t *address);

/* Adds a copy in flight. Returns NULL after a fault if memory is short. */
ptx_bulk_copy_t *rungi_ptx_bulk_copy_add(ptx_warp_t *warp);

/* Completes the copies of an mbarrier. `mask` are the lanes that wait for it. */
void rungi_ptx_bulk_copies_land(ptx_warp_t *warp, uint32_t mask, uint32_t mbarrier);
