/* SPDX-License-Identifier: Apache-2.0 */
/* request_cost.h - what one memory request of a warp costs: sectors, cache lines and wavefronts. */
#pragma once

#include "emulator/machine/machine.h"

/* One access of the lanes in `mask`, all in one space. Every address is a multiple of `bytes`, a power of two. */
typedef struct ptx_request {
    uint32_t mask;
    const uint64_t *address; /* per lane; of shared and local memory, the offset */
    int bytes;               /* per lane */
    ptx_space_t space;
    ptx_access_t kind;
    bool is_matrix; /* ldmatrix: each lane holds the address of a row */
} ptx_request_t;

typedef struct ptx_request_cost {
    int lanes;
    int distinct_bytes;                /* each byte once; in shared memory, each word */
    int sectors, lines, ideal_sectors; /* of global and local memory */
    int wavefronts, ideal_wavefronts;  /* of shared memory */
    int atomic_conflicts;              /* lanes of an atomic whose address a lower lane has, too */
} ptx_request_cost_t;

/* Computes the cost of a request from its addresses. Deterministic; needs no memory of its own. */
ptx_request_cost_t rungi_ptx_request_cost(const ptx_request_t *request);
