/* SPDX-License-Identifier: Apache-2.0 */
/* copy_sources.c - finds writes to the global memory that an asynchronous copy in flight reads.
 *
 * A copy may read its source at any time until it is waited for. A barrier does not change that, so the race check, which
 * takes the copy's issue for the read, does not see the conflict. One range around all sources keeps other writes cheap. */
#include "emulator/checks/checker.h"
#include "emulator/machine/emulator.h"

void rungi_ptx_copy_source_issued(ptx_checker_t *checker, const ptx_async_copy_t *copy)
{
    uint64_t end = copy->from + copy->from_bytes;
    if (copy->from_bytes == 0)
        return;
    if (checker->copies_in_flight++ == 0) {
        checker->source_start = copy->from;
        checker->source_end = end;
    }
    checker->source_start = copy->from < checker->source_start ? copy->from : checker->source_start;
    checker->source_end = end > checker->source_end ? end : checker->source_end;
}

void rungi_ptx_copy_source_completed(ptx_checker_t *checker, const ptx_async_copy_t *copy)
{
    if (copy->from_bytes > 0)
        checker->copies_in_flight--;
}

/* Finds a copy in flight from one of the bytes. */
static const ptx_async_copy_t *find_copy(const ptx_block_t *block, uint64_t address, int bytes, int *warp)
{
    for (*warp = 0; *warp < block->warp_count; (*warp)++)
        for (int i = 0; i < block->warps[*warp].copy_count; i++) {
            const ptx_async_copy_t *copy = &block->warps[*warp].copies[i];
            if (copy->from < address + (uint64_t)bytes && address < copy->from + copy->from_bytes)
                return copy;
        }
    return NULL;
}

static void check_lane(const ptx_checked_access_t *access, int lane)
{
    const ptx_block_t *block = access->warp->block;
    uint64_t address = access->address[lane];
    int warp;
    const ptx_async_copy_t *copy = find_copy(block, address, access->bytes, &warp);
    if (!copy)
        return;
    int thread = PTX_WARP_LANES * access->warp->index + lane, copier = PTX_WARP_LANES * warp + copy->lane;
    const ptx_allocation_t *allocation = rungi_ptx_find_allocation(block->launch->emulator, address);
    bool is_named = allocation && allocation->name[0];
    ptx_party_t here = rungi_ptx_party(block->checker, access->warp->pc, thread);
    ptx_party_t other = rungi_ptx_party(block->checker, copy->pc, copier);
    rungi_ptx_report_pair(
        block->launch, RUNG_EMULATOR_ASYNC_COPY, &here, &other, address, access->bytes,
        "%s of %d bytes at byte offset %llu of %s%s%s while an asynchronous copy of %s from there is in "
        "flight: its thread has not waited for the copy",
        rungi_ptx_action_name(access->kind), access->bytes,
        (unsigned long long)(allocation ? address - allocation->start : address), is_named ? "\"" : "global memory",
        is_named ? allocation->name : "", is_named ? "\"" : "",
        copier == thread ? "the same thread" : "another thread");
}

void rungi_ptx_check_copy_sources(const ptx_checked_access_t *access, uint32_t mask)
{
    const ptx_checker_t *checker = access->warp->block->checker;
    if (!(access->warp->block->launch->checks & RUNG_EMULATOR_CHECK_BARRIERS))
        return;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        if (access->address[lane] < checker->source_end &&
            access->address[lane] + (uint64_t)access->bytes > checker->source_start)
            check_lane(access, lane);
    }
}
