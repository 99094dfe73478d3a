/* SPDX-License-Identifier: Apache-2.0 */
/* array_reuse.h - how many different sectors of each array blocks and launches access. Sectors that a line requests more often
 * are reused from a cache. */
#pragma once

#include "emulator/machine/machine.h"

/* Sectors of global memory, one bit each. */
typedef struct ptx_sector_set {
    uint64_t *block;   /* accessed by the running block */
    uint64_t *launch;  /* accessed by any block of the thread */
    uint32_t *changed; /* words of `block` that are not 0 */
    int64_t changed_count;
} ptx_sector_set_t;

/* Of one thread of a launch. */
typedef struct ptx_reuse {
    ptx_sector_set_t read, written;
    int64_t sector_count;
    int64_t block;               /* linear number of the running block */
    rung_emulator_array *arrays; /* by allocation: what blocks accessed; names are not set */
} ptx_reuse_t;

/* Returns false if memory is short. */
bool rungi_ptx_reuse_create(const ptx_launch_t *launch, ptx_reuse_t *reuse);
void rungi_ptx_reuse_free(ptx_reuse_t *reuse);

/* Marks the sectors of 32 aligned addresses in global memory. */
void rungi_ptx_reuse_mark(ptx_reuse_t *reuse, const ptx_block_t *block, const uint64_t address[PTX_WARP_LANES],
                          ptx_access_t kind);

/* Adds what the threads of a launch accessed in the allocation of this index. */
void rungi_ptx_reuse_sum(const ptx_launch_t *launch, const ptx_reuse_t *const *threads, int count, int64_t index,
                         rung_emulator_array *sum);
