/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - global memory of an emulator: one reserved range of addresses, handed out from the start on.
 *
 * Addresses that kernels see do not depend on the host, so that reports are the same in every run. Freed allocations stay
 * in the list, so that a stale pointer finds them, and their pages are returned to the system. Their addresses are reused
 * when all others have been handed out: those first that were freed longest ago. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/machine/emulator.h"
#include "emulator/ptx/vector.h"

enum {
    ALIGNMENT = 256,
    GUARD_BYTES = 256,           /* behind each allocation, at least */
    CHECKED_GUARD_MIN = 4 << 10, /* behind an allocation of an emulator that checks bounds */
    CHECKED_GUARD_MAX = 1 << 20,
    SMALL_MEMORY = 1 << 30, /* smaller memories have no room for large guards */
    FREED_MAX = 1 << 16     /* freed allocations in the list; a program that frees more loses the oldest reports */
};

/* Returns the index of the last allocation that begins at or before the address, or -1. */
static int64_t find_index(const rung_emulator *emulator, uint64_t address)
{
    int64_t low = 0, high = emulator->allocation_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (emulator->allocations[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

const ptx_allocation_t *rungi_ptx_find_allocation(const rung_emulator *emulator, uint64_t address)
{
    int64_t index = find_index(emulator, address);
    if (index < 0)
        return NULL;
    const ptx_allocation_t *found = &emulator->allocations[index];
    return address - found->start < (uint64_t)found->bytes ? found : NULL;
}

/* ---- Freed addresses ----------------------------------------------------------------------------------------------- */

/* A range of offsets without live allocations. */
typedef struct gap {
    uint64_t offset;  /* aligned */
    int64_t freed_at; /* of the last allocation that was freed in the range; 0 if there is none */
    bool exists;
} gap_t;

/* Replaces `best` by the range [start, end) if an allocation fits and was freed longer ago. */
static void consider(gap_t *best, uint64_t start, uint64_t end, int64_t freed_at, uint64_t bytes, uint64_t align)
{
    uint64_t offset = (start + align - 1) & ~(align - 1);
    bool fits = offset <= end && end - offset >= GUARD_BYTES && bytes <= end - offset - GUARD_BYTES;
    if (fits && (!best->exists || freed_at < best->freed_at))
        *best = (gap_t){offset, freed_at, true};
}

static gap_t find_gap(const rung_emulator *emulator, uint64_t bytes, uint64_t align)
{
    gap_t best = {0};
    uint64_t start = 0; /* end of the last live allocation */
    int64_t freed_at = 0;
    for (int64_t i = 0; i < emulator->allocation_count; i++) {
        const ptx_allocation_t *allocation = &emulator->allocations[i];
        uint64_t offset = allocation->start - PTX_GLOBAL_BASE;
        if (allocation->is_freed) {
            freed_at = allocation->freed_at > freed_at ? allocation->freed_at : freed_at;
            continue;
        }
        consider(&best, start, offset, freed_at, bytes, align);
        start = offset + (uint64_t)allocation->bytes + GUARD_BYTES;
        freed_at = 0;
    }
    consider(&best, start, emulator->global_bytes, freed_at, bytes, align);
    return best;
}

/* Removes freed allocations: those that overlap [start, end), and those that were freed up to call `last`. */
static void forget_freed(rung_emulator *emulator, uint64_t start, uint64_t end, int64_t last)
{
    int64_t left = 0;
    for (int64_t i = 0; i < emulator->allocation_count; i++) {
        const ptx_allocation_t *allocation = &emulator->allocations[i];
        bool overlaps = allocation->start < end && start < allocation->start + (uint64_t)allocation->bytes;
        if (allocation->is_freed && (overlaps || allocation->freed_at <= last))
            emulator->freed_count--;
        else
            emulator->allocations[left++] = *allocation;
    }
    emulator->allocation_count = left;
}

/* Zeroes memory; whole pages are returned to the system. */
static void discard(unsigned char *memory, uint64_t offset, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = offset + bytes;
    uint64_t first = (offset + page - 1) & ~(page - 1), last = end & ~(page - 1);
    if (last <= first || madvise(memory + first, last - first, MADV_DONTNEED) != 0) {
        memset(memory + offset, 0, bytes);
        return;
    }
    memset(memory + offset, 0, first - offset);
    memset(memory + last, 0, end - last);
}

/* ---- Allocations --------------------------------------------------------------------------------------------------- */

/* Adds an allocation to the sorted list. Returns NULL if memory is short. */
static ptx_allocation_t *insert_allocation(rung_emulator *emulator, uint64_t start)
{
    ptx_allocation_t *allocations = rungi_ptx_grow(emulator->allocations, emulator->allocation_count + 1,
                                                   &emulator->allocation_capacity, sizeof *allocations);
    if (!allocations)
        return NULL;
    emulator->allocations = allocations;
    int64_t index = find_index(emulator, start) + 1;
    memmove(allocations + index + 1, allocations + index,
            (size_t)(emulator->allocation_count - index) * sizeof *allocations);
    emulator->allocation_count++;
    return &allocations[index];
}

/* Returns the bytes behind an allocation. With checks, a row or a block too many does not reach the next allocation, where
 * the access would look valid. Pages that nobody accesses take no memory. */
static uint64_t guard_bytes(const rung_emulator *emulator, int64_t bytes)
{
    if (!(emulator->options.checks & RUNG_EMULATOR_CHECK_MEMORY) || emulator->global_bytes < SMALL_MEMORY)
        return GUARD_BYTES;
    return bytes < CHECKED_GUARD_MIN   ? CHECKED_GUARD_MIN
           : bytes < CHECKED_GUARD_MAX ? (uint64_t)bytes
                                       : CHECKED_GUARD_MAX;
}

rung_status rungi_ptx_allocate(rung_emulator *emulator, const char *name, int64_t bytes, int64_t alignment,
                               bool is_constant, uint64_t *address)
{
    uint64_t align = alignment > ALIGNMENT ? (uint64_t)alignment : ALIGNMENT;
    uint64_t guard = guard_bytes(emulator, bytes);
    gap_t gap = {0};
    if (bytes >= 0 && bytes <= INT64_MAX - CHECKED_GUARD_MAX)
        consider(&gap, emulator->used_bytes, emulator->global_bytes, 0, (uint64_t)bytes + guard - GUARD_BYTES, align);
    if (bytes >= 0 && !gap.exists) { /* between allocations that were freed */
        guard = GUARD_BYTES;
        gap = find_gap(emulator, (uint64_t)bytes, align);
    }
    if (!gap.exists)
        return rungi_fail(
            RUNG_STATUS_NO_MEMORY,
            "%lld bytes do not fit into the memory of the emulated GPU, which has %llu bytes; allocate less",
            (long long)bytes, (unsigned long long)emulator->global_bytes);
    uint64_t start = PTX_GLOBAL_BASE + gap.offset, end = gap.offset + (uint64_t)bytes + guard;
    if (gap.offset < emulator->used_bytes)
        forget_freed(emulator, start, PTX_GLOBAL_BASE + end, 0);
    ptx_allocation_t *allocation = insert_allocation(emulator, start);
    if (!allocation)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the list of allocations");
    *allocation = (ptx_allocation_t){.start = start, .bytes = bytes, .is_constant = is_constant};
    snprintf(allocation->name, sizeof allocation->name, "%s", name ? name : "");
    emulator->used_bytes = end > emulator->used_bytes ? end : emulator->used_bytes;
    *address = start;
    rungi_ptx_check_host_allocate(emulator, *address, bytes);
    return RUNG_OK;
}

unsigned char *rungi_ptx_global_range(rung_emulator *emulator, uint64_t address, int64_t bytes)
{
    const ptx_allocation_t *allocation = rungi_ptx_find_allocation(emulator, address);
    bool is_inside = allocation && !allocation->is_freed && bytes >= 0 &&
                     (uint64_t)bytes <= (uint64_t)allocation->bytes - (address - allocation->start);
    if (is_inside)
        return emulator->global + (address - PTX_GLOBAL_BASE);
    rungi_fail(RUNG_STATUS_INVALID, "%lld bytes at 0x%llx are not inside of one allocation", (long long)bytes,
               (unsigned long long)address);
    return NULL;
}

rung_status rung_emulator_allocate(rung_emulator *emulator, int64_t bytes, const char *name, uint64_t *address)
{
    if (!emulator || !address)
        return rungi_fail(RUNG_STATUS_INVALID, "the emulator or the address is NULL");
    return rungi_ptx_allocate(emulator, name, bytes > 0 ? bytes : 1, ALIGNMENT, false, address);
}

rung_status rung_emulator_free(rung_emulator *emulator, uint64_t address)
{
    if (address == 0)
        return RUNG_OK;
    int64_t index = emulator ? find_index(emulator, address) : -1;
    ptx_allocation_t *allocation = index >= 0 ? &emulator->allocations[index] : NULL;
    if (!allocation || allocation->start != address || allocation->is_freed)
        return rungi_fail(RUNG_STATUS_INVALID, "0x%llx is not the start of an allocation, or it was freed before",
                          (unsigned long long)address);
    allocation->is_freed = true;
    allocation->freed_at = ++emulator->free_calls;
    emulator->freed_count++;
    discard(emulator->global, address - PTX_GLOBAL_BASE, (uint64_t)allocation->bytes);
    if (emulator->shadow)
        discard(emulator->shadow, address - PTX_GLOBAL_BASE, (uint64_t)allocation->bytes);
    if (emulator->freed_count > FREED_MAX)
        forget_freed(emulator, 0, 0, emulator->free_calls - FREED_MAX / 2);
    return RUNG_OK;
}

rung_status rung_emulator_write(rung_emulator *emulator, uint64_t address, const void *from, int64_t bytes)
{
    unsigned char *to = emulator ? rungi_ptx_global_range(emulator, address, bytes) : NULL;
    if (!to)
        return RUNG_STATUS_INVALID;
    memcpy(to, from, (size_t)bytes);
    rungi_ptx_check_host_write(emulator, address, bytes);
    return RUNG_OK;
}

rung_status rung_emulator_read(rung_emulator *emulator, uint64_t address, void *to, int64_t bytes)
{
    const unsigned char *from = emulator ? rungi_ptx_global_range(emulator, address, bytes) : NULL;
    if (!from)
        return RUNG_STATUS_INVALID;
    memcpy(to, from, (size_t)bytes);
    return RUNG_OK;
}

rung_status rung_emulator_copy(rung_emulator *emulator, uint64_t to, uint64_t from, int64_t bytes)
{
    const unsigned char *source = emulator ? rungi_ptx_global_range(emulator, from, bytes) : NULL;
    unsigned char *destination = source ? rungi_ptx_global_range(emulator, to, bytes) : NULL;
    if (!destination)
        return RUNG_STATUS_INVALID;
    memmove(destination, source, (size_t)bytes);
    rungi_ptx_check_host_write(emulator, to, bytes);
    return RUNG_OK;
}

rung_status rung_emulator_fill(rung_emulator *emulator, uint64_t address, uint32_t value, int64_t element_bytes,
                               int64_t count)
{
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
        return rungi_fail(RUNG_STATUS_INVALID, "element_bytes is %lld; 1, 2 and 4 are valid", (long long)element_bytes);
    if (count < 0 || count > INT64_MAX / 4)
        return rungi_fail(RUNG_STATUS_INVALID, "count is %lld, which is out of range", (long long)count);
    unsigned char *to = emulator ? rungi_ptx_global_range(emulator, address, count * element_bytes) : NULL;
    if (!to)
        return RUNG_STATUS_INVALID;
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * element_bytes, &value, (size_t)element_bytes);
    rungi_ptx_check_host_write(emulator, address, count * element_bytes);
    return RUNG_OK;
}

bool rung_emulator_find_allocation(const rung_emulator *emulator, uint64_t address, uint64_t *start, int64_t *bytes)
{
    const ptx_allocation_t *allocation = rungi_ptx_find_allocation(emulator, address);
    if (!allocation || allocation->is_freed)
        return false;
    *start = allocation->start;
    *bytes = allocation->bytes;
    return true;
}
