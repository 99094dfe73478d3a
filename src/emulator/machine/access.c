/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - resolves the addresses of memory accesses, and completes asynchronous copies. */
#include <stdlib.h>
#include <string.h>

#include "emulator/checks/checks.h"
#include "emulator/counts/counts.h"
#include "emulator/machine/cluster.h"
#include "emulator/machine/machine.h"
#include "emulator/ptx/vector.h"

/* ---- Addresses ----------------------------------------------------------------------------------------------------- */

ptx_space_t rungi_ptx_resolve_space(ptx_space_t space, uint64_t *address)
{
    if (space != PTX_SPACE_GENERIC)
        return space == PTX_SPACE_CONST ? PTX_SPACE_GLOBAL : space;
    static const struct {
        uint64_t window;
        ptx_space_t space;
    } windows[] = {{PTX_SHARED_WINDOW, PTX_SPACE_SHARED_CLUSTER},
                   {PTX_LOCAL_WINDOW, PTX_SPACE_LOCAL},
                   {PTX_PARAM_WINDOW, PTX_SPACE_PARAM}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        if (*address - windows[i].window < PTX_WINDOW_BYTES) {
            *address -= windows[i].window;
            return windows[i].space;
        }
    return PTX_SPACE_GLOBAL;
}

unsigned char *rungi_ptx_host_address(ptx_warp_t *warp, int lane, ptx_space_t space, uint64_t address, int bytes)
{
    ptx_block_t *block = warp->block;
    const ptx_launch_t *launch = block->launch;
    uint64_t size = (uint64_t)bytes, start = 0, room; /* start: of the lane's part, which begins at base */
    unsigned char *base;
    switch (space) {
    case PTX_SPACE_SHARED_CLUSTER:
        block = rungi_ptx_cluster_block(block, &address);
        if (!block)
            return NULL;
        base = block->shared;
        room = (uint64_t)block->shared_bytes;
        break;
    case PTX_SPACE_SHARED:
        base = block->shared;
        room = (uint64_t)block->shared_bytes;
        break;
    case PTX_SPACE_LOCAL:
        base = warp->local; /* NULL without local memory: no access is in bounds then */
        start = (uint64_t)lane * (uint64_t)block->local_bytes;
        room = (uint64_t)block->local_bytes;
        break;
    case PTX_SPACE_PARAM:
        base = launch->parameters;
        room = (uint64_t)launch->parameter_bytes;
        break;
    default:
        base = launch->global;
        room = launch->global_bytes;
        address -= PTX_GLOBAL_BASE;
        break;
    }
    return address <= room && size <= room - address ? base + start + address : NULL;
}

/* An address in the shared::cluster window that is in the executing block's own memory becomes an offset. */
static ptx_space_t localize(ptx_warp_t *warp, ptx_space_t space, uint64_t *address)
{
    uint64_t offset = *address;
    if (space != PTX_SPACE_SHARED_CLUSTER || rungi_ptx_cluster_block(warp->block, &offset) != warp->block)
        return space;
    *address = offset;
    return PTX_SPACE_SHARED;
}

/* Reports an access outside of the space. In global memory nothing is there at all, and the launch ends. */
static void report_outside(ptx_warp_t *warp, int lane, ptx_space_t space, uint64_t address, int bytes,
                           ptx_access_t kind)
{
    static const char *const actions[] = {"read", "write", "atomic access"};
    static const char *const spaces[] = {[PTX_SPACE_GLOBAL] = "global",
                                         [PTX_SPACE_SHARED] = "shared",
                                         [PTX_SPACE_SHARED_CLUSTER] = "shared",
                                         [PTX_SPACE_LOCAL] = "local",
                                         [PTX_SPACE_PARAM] = "parameter"};
    if (space == PTX_SPACE_GLOBAL && !(warp->block->launch->checks & RUNG_EMULATOR_CHECK_MEMORY)) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_OUT_OF_BOUNDS, lane,
                        "%s of %d bytes at 0x%llx, which is outside of all memory", actions[kind], bytes,
                        (unsigned long long)address);
        return;
    }
    if (space == PTX_SPACE_GLOBAL) {
        rungi_ptx_check_outside(warp, lane, address, bytes, kind);
        return;
    }
    int64_t size = space == PTX_SPACE_LOCAL   ? warp->block->local_bytes
                   : space == PTX_SPACE_PARAM ? warp->block->launch->parameter_bytes
                                              : warp->block->shared_bytes;
    rungi_ptx_report(warp, RUNG_EMULATOR_OUT_OF_BOUNDS, lane, address, bytes,
                     "%s of %d bytes at byte offset %lld of %s memory, which has %lld bytes", actions[kind], bytes,
                     (long long)address, spaces[space], (long long)size);
}

static uint32_t check_and_count(const ptx_checked_access_t *access)
{
    const ptx_launch_t *launch = access->warp->block->launch;
    if (access->warp->is_counted)
        rungi_ptx_count_access(access);
    return launch->checks ? rungi_ptx_check_access(access) : access->mask;
}

/* Spaces of all lanes of an access that is not generic. */
#define EIGHT(space) space, space, space, space, space, space, space, space
static const ptx_space_t all_shared[PTX_WARP_LANES] = {EIGHT(PTX_SPACE_SHARED), EIGHT(PTX_SPACE_SHARED),
                                                       EIGHT(PTX_SPACE_SHARED), EIGHT(PTX_SPACE_SHARED)};
static const ptx_space_t all_global[PTX_WARP_LANES] = {EIGHT(PTX_SPACE_GLOBAL), EIGHT(PTX_SPACE_GLOBAL),
                                                       EIGHT(PTX_SPACE_GLOBAL), EIGHT(PTX_SPACE_GLOBAL)};
#undef EIGHT

/* Resolves an access to shared or global memory. Returns false if the space is another one, or a lane is outside of the
 * memory or misaligned. */
static bool resolve_all(const ptx_warp_t *warp, uint32_t mask, const uint64_t address[PTX_WARP_LANES], int bytes,
                        ptx_space_t space, unsigned char *pointer[PTX_WARP_LANES])
{
    const ptx_block_t *block = warp->block;
    bool is_shared = space == PTX_SPACE_SHARED, is_global = space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST;
    unsigned char *memory = is_shared ? block->shared : block->launch->global;
    uint64_t base = is_shared ? 0 : PTX_GLOBAL_BASE, outside = 0, odd = 0;
    uint64_t room = is_shared ? (uint64_t)block->shared_bytes : block->launch->global_bytes,
             last = room - (uint64_t)bytes;
    if (!(is_shared || is_global) || room < (uint64_t)bytes || (bytes & (bytes - 1)) != 0)
        return false;
    for (int lane = 0; mask == ~0u && lane < PTX_WARP_LANES; lane++) { /* without branches, for the vectorizer */
        uint64_t offset = address[lane] - base;
        outside |= offset | (last - offset); /* bit 63: the offset is negative or too large */
        odd |= offset;
        pointer[lane] = (unsigned char *)((uintptr_t)memory + offset); /* used only if all are inside */
    }
    for (uint32_t lanes = mask == ~0u ? 0 : mask; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        uint64_t offset = address[lane] - base;
        outside |= offset | (last - offset);
        odd |= offset;
        pointer[lane] = (unsigned char *)((uintptr_t)memory + offset); /* used only if all are inside */
    }
    return outside >> 63 == 0 && (odd & (uint64_t)(bytes - 1)) == 0;
}

uint32_t rungi_ptx_access(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                          const uint64_t address[PTX_WARP_LANES], int bytes, ptx_space_t space, ptx_access_t kind,
                          unsigned char *pointer[PTX_WARP_LANES])
{
    ptx_space_t resolved[PTX_WARP_LANES];
    uint64_t offset[PTX_WARP_LANES];
    uint32_t valid = 0;
    if (resolve_all(warp, mask, address, bytes, space, pointer)) {
        ptx_checked_access_t access = {.warp = warp,
                                       .instruction = instruction,
                                       .mask = mask,
                                       .address = address,
                                       .space = space == PTX_SPACE_SHARED ? all_shared : all_global,
                                       .bytes = bytes,
                                       .kind = kind};
        return warp->is_observed ? check_and_count(&access) : mask;
    }
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        offset[lane] = address[lane];
        resolved[lane] = localize(warp, rungi_ptx_resolve_space(space, &offset[lane]), &offset[lane]);
        pointer[lane] = rungi_ptx_host_address(warp, lane, resolved[lane], offset[lane], bytes);
        bool is_aligned = (offset[lane] & (uint64_t)(bytes - 1)) == 0 || (bytes & (bytes - 1)) != 0;
        if (!pointer[lane])
            report_outside(warp, lane, resolved[lane], offset[lane], bytes, kind);
        else if (!is_aligned)
            rungi_ptx_check_misaligned(warp, lane, resolved[lane], offset[lane], bytes, kind);
        else
            valid |= 1u << lane;
    }
    if (!warp->is_observed || !valid)
        return valid;
    ptx_checked_access_t access = {.warp = warp,
                                   .instruction = instruction,
                                   .mask = valid,
                                   .space = resolved,
                                   .address = offset,
                                   .bytes = bytes,
                                   .kind = kind};
    return check_and_count(&access);
}

uint32_t rungi_ptx_check_words(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask,
                               const uint64_t address[PTX_WARP_LANES], const ptx_address_pattern_t *pattern,
                               ptx_access_t kind)
{
    ptx_checked_access_t access = {.warp = warp,
                                   .instruction = instruction,
                                   .mask = mask,
                                   .space = instruction->space == PTX_SPACE_SHARED ? all_shared : all_global,
                                   .address = address,
                                   .pattern = pattern,
                                   .bytes = 4 * instruction->vector_length,
                                   .kind = kind};
    return rungi_ptx_check_access(&access);
}

/* ---- Asynchronous copies ------------------------------------------------------------------------------------------- */

/* Returns whether the values of all lanes of the mask are the same. */
static bool are_equal(const uint32_t value[PTX_WARP_LANES], uint32_t mask)
{
    if (mask == ~0u)
        return memcmp(value, value + 1, (PTX_WARP_LANES - 1) * sizeof *value) == 0;
    uint32_t first = value[__builtin_ctz(mask)], unequal = 0;
    for (uint32_t lane = 0; lane < PTX_WARP_LANES; lane++)
        unequal |= (value[lane] ^ first) & (0 - (mask >> lane & 1));
    return unequal == 0;
}

ptx_copy_batch_t *rungi_ptx_copy_batch_reserve(ptx_warp_t *warp, uint32_t mask, int bytes)
{
    if (warp->is_checked || warp->copy_count > 0 || mask == 0 || !are_equal(warp->copy_group, mask) ||
        !are_equal(warp->copy_arrivals, mask))
        return NULL;
    uint32_t group = warp->copy_group[__builtin_ctz(mask)];
    if (warp->batch_count > 0 && warp->batches[warp->batch_count - 1].group > group) /* batches complete in order */
        return NULL;
    ptx_copy_batch_t *batches = rungi_ptx_grow(warp->batches, (int64_t)warp->batch_count + 1, &warp->batch_capacity,
                                               sizeof *batches);
    if (!batches)
        return NULL;
    warp->batches = batches;
    ptx_copy_batch_t *batch = &batches[warp->batch_count++];
    batch->mask = mask;
    batch->group = group;
    batch->arrival = warp->copy_arrivals[__builtin_ctz(mask)];
    batch->pc = warp->pc;
    batch->bytes = bytes;
    return batch;
}

static ptx_async_copy_t *append_copies(ptx_warp_t *warp, int count)
{
    ptx_async_copy_t *copies = rungi_ptx_grow(warp->copies, (int64_t)warp->copy_count + count, &warp->copy_capacity,
                                              sizeof *copies);
    if (!copies)
        return NULL;
    warp->copies = copies;
    warp->copy_count += count;
    return &warp->copies[warp->copy_count - count];
}

/* Makes single copies of all batches. Returns false if memory is short. */
static bool split_batches(ptx_warp_t *warp)
{
    int count = warp->batch_count;
    warp->batch_count = 0;
    for (int i = 0; i < count; i++) {
        const ptx_copy_batch_t *batch = &warp->batches[i];
        ptx_async_copy_t *copy = append_copies(warp, __builtin_popcount(batch->mask));
        if (!copy)
            return false;
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
            if (!(batch->mask >> lane & 1))
                continue;
            *copy = (ptx_async_copy_t){.lane = (uint8_t)lane,
                                       .bytes = (uint8_t)batch->bytes,
                                       .to = batch->to[lane],
                                       .group = batch->group,
                                       .arrival = batch->arrival,
                                       .pc = batch->pc};
            memcpy(copy->data, batch->data[lane], sizeof copy->data);
            copy++;
        }
    }
    return true;
}

ptx_async_copy_t *rungi_ptx_async_copy_reserve(ptx_warp_t *warp, int count)
{
    return split_batches(warp) ? append_copies(warp, count) : NULL;
}

void rungi_ptx_async_copy_issue(ptx_warp_t *warp, int lane, uint32_t to, const unsigned char *data, int bytes,
                                uint64_t from, int from_bytes)
{
    ptx_async_copy_t *copy = rungi_ptx_async_copy_reserve(warp, 1);
    if (!copy) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "no memory for an asynchronous copy");
        return;
    }
    *copy = (ptx_async_copy_t){.lane = (uint8_t)lane,
                               .bytes = (uint8_t)bytes,
                               .to = to,
                               .group = warp->copy_group[lane],
                               .pc = warp->pc,
                               .arrival = warp->copy_arrivals[lane],
                               .from_bytes = (uint8_t)from_bytes,
                               .from = from};
    memcpy(copy->data, data, (size_t)bytes);
    rungi_ptx_check_copy_issued(warp, copy);
}

/* Completes the copies of the lanes' groups before `limit`: the number of the first group that may stay in flight. */
static void complete_copies(ptx_warp_t *warp, uint32_t mask, const int64_t limit[PTX_WARP_LANES])
{
    int left = 0;
    for (int i = 0; i < warp->copy_count; i++) {
        const ptx_async_copy_t *copy = &warp->copies[i];
        bool is_complete = (mask >> copy->lane & 1) && (int64_t)copy->group < limit[copy->lane];
        if (is_complete) {
            if (copy->bytes == 16)
                memcpy(warp->block->shared + copy->to, copy->data, 16);
            else
                memcpy(warp->block->shared + copy->to, copy->data, copy->bytes);
            if (warp->is_checked)
                rungi_ptx_check_copy_completed(warp, copy);
        } else if (left != i) {
            warp->copies[left] = *copy;
            left++;
        } else {
            left++;
        }
    }
    warp->copy_count = left;
}

static void complete_batch(const ptx_warp_t *warp, const ptx_copy_batch_t *batch)
{
    unsigned char *shared = warp->block->shared;
    if (batch->mask == ~0u && batch->bytes == 16) /* a size that the compiler knows */
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            memcpy(shared + batch->to[lane], batch->data[lane], 16);
    else
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            if (batch->mask >> lane & 1)
                memcpy(shared + batch->to[lane], batch->data[lane], (size_t)batch->bytes);
}

/* Completes the batches of groups before the lanes' `pending` newest ones. Returns false if the lanes differ in that. */
static bool complete_batches(ptx_warp_t *warp, uint32_t mask, int64_t pending)
{
    int done = 0;
    if (!are_equal(warp->copy_group, mask))
        return false;
    for (int i = 0; i < warp->batch_count; i++)
        if (warp->batches[i].mask & ~mask)
            return false;
    int64_t limit = (int64_t)warp->copy_group[__builtin_ctz(mask)] - pending;
    while (done < warp->batch_count && (int64_t)warp->batches[done].group < limit)
        complete_batch(warp, &warp->batches[done++]);
    warp->batch_count -= done;
    if (done > 0)
        memmove(warp->batches, warp->batches + done, (size_t)warp->batch_count * sizeof *warp->batches);
    return true;
}

void rungi_ptx_async_copy_wait(ptx_warp_t *warp, uint32_t mask, int64_t pending)
{
    int64_t limit[PTX_WARP_LANES];
    if (mask == 0 || (warp->batch_count > 0 && complete_batches(warp, mask, pending)))
        return;
    if (!split_batches(warp)) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, __builtin_ctz(mask), "no memory for an asynchronous copy");
        return;
    }
    if (warp->copy_count == 0)
        return;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        limit[lane] = (int64_t)warp->copy_group[lane] - pending;
    complete_copies(warp, mask, limit);
}

void rungi_ptx_async_copy_wait_all(ptx_warp_t *warp, uint32_t mask)
{
    rungi_ptx_async_copy_wait(warp, mask, -1);
}

void rungi_ptx_async_copy_land(ptx_warp_t *warp, int lane, uint32_t arrival, ptx_warp_t *waiter, int waiter_lane)
{
    int left = 0;
    if (!split_batches(warp))
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "no memory for an asynchronous copy");
    for (int i = 0; i < warp->copy_count; i++) {
        ptx_async_copy_t copy = warp->copies[i];
        if (copy.lane != lane || copy.arrival > arrival) {
            warp->copies[left++] = copy;
            continue;
        }
        memcpy(warp->block->shared + copy.to, copy.data, copy.bytes);
        rungi_ptx_check_landed(waiter, waiter_lane, copy.to, copy.bytes, copy.pc);
    }
    warp->copy_count = left;
}

/* ---- Reads of the asynchronous proxy ------------------------------------------------------------------------------- */

void rungi_ptx_async_read_add(ptx_warp_t *warp, const ptx_async_read_t *read)
{
    if (!warp->is_checked)
        return;
    ptx_async_read_t *reads = rungi_ptx_grow(warp->reads, (int64_t)warp->read_count + 1, &warp->read_capacity,
                                             sizeof *reads);
    if (!reads) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, read->lane, "no memory for an asynchronous copy");
        return;
    }
    warp->reads = reads;
    warp->reads[warp->read_count++] = *read;
    rungi_ptx_check_read_begins(warp->block, read->from, read->bytes);
}

void rungi_ptx_async_reads_end(ptx_warp_t *warp, uint32_t mask, bool is_matrix, const int64_t limit[PTX_WARP_LANES])
{
    int left = 0;
    for (int i = 0; i < warp->read_count; i++) {
        ptx_async_read_t read = warp->reads[i];
        if (read.is_matrix != is_matrix || !(mask >> read.lane & 1) || (int64_t)read.group >= limit[read.lane])
            warp->reads[left++] = read;
        else
            rungi_ptx_check_read_ends(warp, &read);
    }
    warp->read_count = left;
}
