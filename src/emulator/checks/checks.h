/* SPDX-License-Identifier: Apache-2.0 */
/* checks.h - what the machine reports to the checks: accesses, copies and synchronization. */
#pragma once

#include "emulator/machine/machine.h"

/* An access of one warp whose lanes are inside of their memory and aligned. */
typedef struct ptx_checked_access {
    ptx_warp_t *warp;
    const ptx_instruction_t *instruction;
    uint32_t mask;
    const ptx_space_t *space; /* per lane; never generic or const */
    const uint64_t *address;  /* per lane: offset in the space, or address in global memory */
    unsigned char **pointer;  /* per lane */
    int bytes;
    ptx_access_t kind;
} ptx_checked_access_t;

/* Checks an access. Returns the lanes whose access may happen. */
uint32_t rungi_ptx_check_access(const ptx_checked_access_t *access);

/* Reports an access to global memory outside of all allocations, with the nearest one. */
void rungi_ptx_check_outside(ptx_warp_t *warp, int lane, uint64_t address, int bytes, ptx_access_t kind);

void rungi_ptx_check_copy_issued(ptx_warp_t *warp, const ptx_async_copy_t *copy);
void rungi_ptx_check_copy_completed(ptx_warp_t *warp, const ptx_async_copy_t *copy);
