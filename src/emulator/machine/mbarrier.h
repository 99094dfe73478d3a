/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier.h - barriers in shared memory that count arrivals and bytes: mbarrier.*.
 *
 * The state of an mbarrier is kept beside shared memory; the 8 bytes of shared memory only have an address. A phase
 * completes when no arrival is pending and all expected bytes have arrived. */
#pragma once

#include "emulator/machine/cluster.h"

struct ptx_mbarrier {
    uint32_t offset;            /* in shared memory */
    uint32_t expected, pending; /* arrivals of a phase, and those that are missing */
    int64_t bytes;              /* expected transaction bytes that have not arrived */
    uint32_t phase;             /* completed phases */
    uint64_t init;              /* of the checks: who has initialized it, and when */
    uint32_t *clocks; /* of the checks: what arrivals of this phase, and of the last one, have released; or NULL */
};

/* Counts of one operation. */
typedef struct ptx_mbarrier_arrival {
    uint32_t count; /* arrivals */
    int64_t bytes;  /* expected in addition; negative: have arrived */
    bool is_drop;   /* later phases expect fewer arrivals */
    bool is_relaxed;
    bool must_not_complete; /* .noComplete */
} ptx_mbarrier_arrival_t;

/* Forgets the mbarriers of a block, and frees them. */
void rungi_ptx_mbarriers_clear(ptx_block_t *block);
void rungi_ptx_mbarriers_free(ptx_block_t *block);

/* Initializes and invalidates an mbarrier of the executing block. */
void rungi_ptx_mbarrier_init(ptx_warp_t *warp, int lane, uint64_t address, uint32_t count);
void rungi_ptx_mbarrier_invalidate(ptx_warp_t *warp, int lane, uint64_t address);

/* Returns the mbarrier at an address of the shared::cluster window and its block. Reports an address without an mbarrier and
 * returns NULL. */
ptx_mbarrier_t *rungi_ptx_mbarrier_find(ptx_warp_t *warp, int lane, uint64_t address, ptx_block_t **block);

/* Executes an arrival. Returns the state before it, for test_wait and pending_count. */
uint64_t rungi_ptx_mbarrier_arrive(ptx_warp_t *warp, int lane, uint64_t address, const ptx_mbarrier_arrival_t *arrival);

/* Returns the pending arrivals that a state holds. */
uint32_t rungi_ptx_mbarrier_pending(uint64_t state);

/* Returns the lanes whose phase, given by a state or by its parity, has completed. */
uint32_t rungi_ptx_mbarrier_test(ptx_warp_t *warp, uint32_t mask, const uint64_t address[PTX_WARP_LANES],
                                 const uint64_t *state, const uint32_t *parity, bool is_relaxed);

/* A copy in flight has landed: its bytes have arrived, or its arrival is executed. */
void rungi_ptx_mbarrier_landed(ptx_warp_t *warp, const ptx_bulk_copy_t *copy);
