/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - global memory of an emulator: one reserved range of addresses, handed out from the start on.
 *
 * Addresses that kernels see do not depend on the host, so that reports are the same in every run. Addresses are
 * not reused, so a stale pointer finds its freed allocation; the pages of freed memory are returned to the system. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/machine/emulator.h"

enum { ALIGNMENT = 256, GUARD_BYTES = 256 };

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

static ptx_allocation_t *add_allocation(rung_emulator *emulator)
{
    if (emulator->allocation_count == emulator->allocation_capacity) {
        int64_t capacity = emulator->allocation_capacity ? 2 * emulator->allocation_capacity : 64;
        ptx_allocation_t *allocations = realloc(emulator->allocations, (size_t)capacity * sizeof *allocations);
        if (!allocations)
            return NULL;
        emulator->allocations = allocations;
        emulator->allocation_capacity = capacity;
    }
    return &emulator->allocations[emulator->allocation_count++];
}

rung_status rungi_ptx_allocate(rung_emulator *emulator, const char *name, int64_t bytes, int64_t alignment,
                               bool is_constant, uint64_t *address)
{
    uint64_t align = alignment > ALIGNMENT ? (uint64_t)alignment : ALIGNMENT;
    uint64_t offset = (emulator->used_bytes + align - 1) & ~(align - 1);
    if (bytes < 0 || offset > emulator->global_bytes || (uint64_t)bytes > emulator->global_bytes - offset - GUARD_BYTES)
        return rungi_fail(RUNG_STATUS_NO_MEMORY,
                          "%lld bytes do not fit into the emulator's memory; set rung_emulator_options.memory_bytes "
                          "(now %llu) to a larger value",
                          (long long)bytes, (unsigned long long)emulator->global_bytes);
    ptx_allocation_t *allocation = add_allocation(emulator);
    if (!allocation)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the list of allocations");
    *allocation = (ptx_allocation_t){.start = PTX_GLOBAL_BASE + offset, .bytes = bytes, .is_constant = is_constant};
    snprintf(allocation->name, sizeof allocation->name, "%s", name ? name : "");
    emulator->used_bytes = offset + (uint64_t)bytes + GUARD_BYTES;
    *address = allocation->start;
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
    uint64_t first = (address - PTX_GLOBAL_BASE + 4095) & ~UINT64_C(4095);
    uint64_t end = (address - PTX_GLOBAL_BASE + (uint64_t)allocation->bytes) & ~UINT64_C(4095);
    if (end > first)
        madvise(emulator->global + first, end - first, MADV_DONTNEED);
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
