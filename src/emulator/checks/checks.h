/* SPDX-License-Identifier: Apache-2.0 */
/* checks.h - what the machine reports to the checks: accesses, copies and synchronization. */
#pragma once

#include "emulator/machine/machine.h"

/* Addresses of lanes 0 to 15 and of lanes 16 to 31 that are equal (step 0) or follow each other. */
typedef struct ptx_address_pattern {
    uint64_t first[2];
    uint32_t step[2];
} ptx_address_pattern_t;

/* An access of one warp whose lanes are inside of their memory and aligned. */
typedef struct ptx_checked_access {
    ptx_warp_t *warp;
    const ptx_instruction_t *instruction;
    uint32_t mask;
    const ptx_space_t *space;             /* per lane; never generic or const */
    const uint64_t *address;              /* per lane: offset in the space, or address in global memory */
    const ptx_address_pattern_t *pattern; /* of all lanes' addresses, or NULL */
    int bytes;
    ptx_access_t kind;
} ptx_checked_access_t;

/* Checks an access. Returns the lanes whose access may happen. */
uint32_t rungi_ptx_check_access(const ptx_checked_access_t *access);

/* Checks an access of words in shared or global memory, whose lanes are inside of the memory and aligned. `pattern` may be
 * NULL. (machine/access.c) */
uint32_t rungi_ptx_check_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                               const uint64_t address[PTX_WARP_LANES], const ptx_address_pattern_t *pattern,
                               ptx_access_t kind);

/* Reports an access to global memory outside of all allocations, with the nearest one. */
void rungi_ptx_check_outside(ptx_warp_t *warp, int lane, uint64_t address, int bytes, ptx_access_t kind);

/* Reports an access whose address is not a multiple of its size. */
void rungi_ptx_check_misaligned(ptx_warp_t *warp, int lane, ptx_space_t space, uint64_t address, int bytes,
                                ptx_access_t kind);

void rungi_ptx_check_copy_issued(ptx_warp_t *warp, const ptx_async_copy_t *copy);
void rungi_ptx_check_copy_completed(ptx_warp_t *warp, const ptx_async_copy_t *copy);

/* Data of a copy has landed in the shared memory of the warp's block, because the warp's lane has waited for it. */
void rungi_ptx_check_landed(ptx_warp_t *warp, int lane, uint32_t to, uint32_t bytes, int32_t pc);

/* Who acquires the clock has waited for the data, too. */
void rungi_ptx_check_landed_clock(ptx_warp_t *warp, uint32_t *clock);

/* The destination of a copy in the shared memory of a block, which is in flight from now on. */
void rungi_ptx_check_in_flight(ptx_block_t *block, uint32_t to, uint32_t bytes);

/* The asynchronous proxy (a bulk store or wgmma) reads shared memory of the warp's block from now on. Reports bytes that a
 * thread has written without a proxy fence. */
void rungi_ptx_check_proxy_read(ptx_warp_t *warp, int lane, uint32_t from, uint32_t bytes);

/* Marks bytes that the asynchronous proxy may still read, and ends such a read. */
void rungi_ptx_check_read_begins(ptx_block_t *block, uint32_t from, uint32_t bytes);
void rungi_ptx_check_read_ends(ptx_warp_t *warp, const ptx_async_read_t *read);

/* A warp has waited for what another warp of its block has read. */
void rungi_ptx_check_warpgroup(ptx_warp_t *warp, int other);

/* fence.proxy.async */
void rungi_ptx_check_proxy_fence(ptx_warp_t *warp);

/* A lane initializes or invalidates an mbarrier of its block, which writes 8 bytes. Returns what the check of later operations
 * needs. */
uint64_t rungi_ptx_check_mbarrier_write(ptx_warp_t *warp, int lane, uint64_t offset);

/* A lane uses an mbarrier of its block. `init` is the result of the call above. */
void rungi_ptx_check_mbarrier_use(ptx_warp_t *warp, int lane, uint64_t offset, uint64_t init);
