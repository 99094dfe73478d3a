/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.c - see bulk.h. */
#include "emulator/machine/bulk.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/checks/checks.h"
#include "emulator/counts/counts.h"
#include "emulator/execute/float_bits.h"
#include "emulator/machine/mbarrier.h"
#include "emulator/ptx/atomic_operations.h"

/* ---- Accesses ------------------------------------------------------------------------------------------------------ */

/* Returns the bytes of the next access to a range: a power of two up to 16 that the address is a multiple of. */
static uint32_t piece_bytes(uint64_t address, uint32_t left)
{
    uint32_t bytes = 16;
    while (bytes > left || address % bytes != 0)
        bytes /= 2;
    return bytes;
}

/* Counts a range of global memory as requests of up to 32 pieces. */
static void count_range(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint64_t address, uint32_t bytes,
                        ptx_access_t kind)
{
    uint32_t size = piece_bytes(address, bytes);
    uint64_t addresses[PTX_WARP_LANES];
    ptx_space_t spaces[PTX_WARP_LANES];
    while (bytes >= size && bytes % size == 0 && bytes > 0) {
        uint32_t lanes = bytes / size < PTX_WARP_LANES ? bytes / size : PTX_WARP_LANES;
        for (uint32_t i = 0; i < lanes; i++) {
            addresses[i] = address + (uint64_t)i * size;
            spaces[i] = PTX_SPACE_GLOBAL;
        }
        ptx_checked_access_t access = {.warp = warp,
                                       .instruction = instruction,
                                       .mask = lanes == PTX_WARP_LANES ? ~0u : (1u << lanes) - 1,
                                       .space = spaces,
                                       .address = addresses,
                                       .bytes = (int)size,
                                       .kind = kind};
        rungi_ptx_count_access(&access);
        address += (uint64_t)lanes * size;
        bytes -= lanes * size;
    }
}

/* Checks a range piece by piece. Returns false after a report. */
static bool check_range(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane, ptx_space_t space,
                        uint64_t address, uint32_t bytes, ptx_access_t kind)
{
    uint64_t addresses[PTX_WARP_LANES];
    unsigned char *pointer[PTX_WARP_LANES];
    bool is_valid = true;
    for (uint32_t done = 0, size = 0; is_valid && done < bytes; done += size) {
        size = piece_bytes(address + done, bytes - done);
        addresses[lane] = address + done;
        is_valid = rungi_ptx_access(warp, instruction, 1u << lane, addresses, (int)size, space, kind, pointer) != 0;
    }
    return is_valid;
}

unsigned char *rungi_ptx_bulk_access(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                                     ptx_space_t space, uint64_t address, uint32_t bytes, ptx_access_t kind)
{
    unsigned char *host = rungi_ptx_host_address(warp, lane, space, address, (int)bytes);
    bool is_counted = warp->is_counted, is_observed = warp->is_observed;
    if (host && !is_observed)
        return host;
    if (host && is_counted && space == PTX_SPACE_GLOBAL)
        count_range(warp, instruction, address, bytes, kind);
    warp->is_counted = false; /* while the pieces are checked */
    warp->is_observed = warp->is_checked;
    bool is_valid = check_range(warp, instruction, lane, space, address, bytes, kind);
    warp->is_counted = is_counted;
    warp->is_observed = is_observed;
    return is_valid ? host : NULL;
}

/* ---- Reductions ---------------------------------------------------------------------------------------------------- */

static uint64_t combine_integers(uint64_t old, uint64_t value, int bits, bool is_signed,
                                 ptx_atomic_operation_t operation)
{
    int shift = 64 - bits;
    int64_t x = (int64_t)(old << shift) >> shift, y = (int64_t)(value << shift) >> shift;
    bool is_less = is_signed ? x < y : old < value;
    switch (operation) {
    case PTX_ATOMIC_ADD: return old + value;
    case PTX_ATOMIC_MIN: return is_less ? old : value;
    case PTX_ATOMIC_MAX: return is_less ? value : old;
    case PTX_ATOMIC_INC: return old >= value ? 0 : old + 1;
    case PTX_ATOMIC_DEC: return old == 0 || old > value ? value : old - 1;
    case PTX_ATOMIC_AND: return old & value;
    case PTX_ATOMIC_OR: return old | value;
    default: return old ^ value;
    }
}

static double to_double(uint64_t bits, ptx_type_t type)
{
    return type == PTX_F16    ? (double)f16_to_f32((uint16_t)bits)
           : type == PTX_BF16 ? (double)bf16_to_f32((uint16_t)bits)
           : type == PTX_F32  ? (double)f32_of_bits((uint32_t)bits)
                              : f64_of_bits(bits);
}

static uint64_t of_float(float value, ptx_type_t type)
{
    return type == PTX_F16 ? f32_to_f16(value) : type == PTX_BF16 ? f32_to_bf16(value) : f32_bits(value);
}

static uint64_t combine_floats(uint64_t old, uint64_t value, ptx_type_t type, ptx_atomic_operation_t operation)
{
    double x = to_double(old, type), y = to_double(value, type);
    if (operation == PTX_ATOMIC_MIN)
        return x < y || y != y ? old : value;
    if (operation == PTX_ATOMIC_MAX)
        return x > y || y != y ? old : value;
    return type == PTX_F64 ? f64_bits(x + y) : of_float((float)x + (float)y, type);
}

void rungi_ptx_bulk_combine(unsigned char *to, const unsigned char *from, uint32_t bytes,
                            const ptx_bulk_reduction_t *reduction)
{
    ptx_type_t type = (ptx_type_t)reduction->type;
    size_t size = (size_t)rungi_ptx_type_bits(type) / 8;
    bool is_float = rungi_ptx_type_kind(type) == PTX_KIND_FLOAT;
    for (size_t i = 0; i + size <= bytes; i += size) {
        uint64_t old = 0, value = 0;
        memcpy(&old, to + i, size);
        memcpy(&value, from + i, size);
        old = is_float ? combine_floats(old, value, type, (ptx_atomic_operation_t)reduction->operation)
                       : combine_integers(old, value, (int)size * 8, rungi_ptx_type_kind(type) == PTX_KIND_SIGNED,
                                          (ptx_atomic_operation_t)reduction->operation);
        memcpy(to + i, &old, size);
    }
}

/* ---- Copies to shared memory --------------------------------------------------------------------------------------- */

static void issue_to(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane, uint64_t to, uint64_t mbarrier,
                     const unsigned char *data, uint32_t bytes, const ptx_bulk_reduction_t *reduction)
{
    ptx_block_t *block, *destination;
    uint64_t offset = to;
    const ptx_mbarrier_t *found = rungi_ptx_mbarrier_find(warp, lane, mbarrier, &block);
    unsigned char *memory = rungi_ptx_bulk_access(warp, instruction, lane, PTX_SPACE_SHARED_CLUSTER, to, bytes,
                                                  reduction->is_used ? PTX_ATOMIC : PTX_WRITE);
    destination = rungi_ptx_cluster_block(warp->block, &offset);
    if (!found || !memory)
        return;
    if (destination != block) {
        rungi_ptx_report(warp, RUNG_EMULATOR_BARRIER, lane, mbarrier, 8,
                         "the mbarrier of a bulk copy is in another block than the destination");
        return;
    }
    ptx_bulk_copy_t *copy = rungi_ptx_bulk_copy_add(warp);
    unsigned char *copied = copy ? malloc(bytes) : NULL;
    if (!copied) {
        if (copy)
            rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "no memory for an asynchronous copy");
        return;
    }
    memcpy(copied, data, bytes);
    if (reduction->is_used)
        rungi_ptx_bulk_combine(memory, data, bytes, reduction);
    copy->block = block;
    copy->mbarrier = found->offset;
    copy->to = (uint32_t)offset;
    copy->bytes = bytes;
    copy->thread = PTX_WARP_LANES * warp->index + lane;
    copy->is_reduction = reduction->is_used;
    copy->data = copied;
    rungi_ptx_check_in_flight(block, copy->to, bytes);
}

void rungi_ptx_bulk_issue(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                          const ptx_bulk_target_t *target, const unsigned char *data, uint32_t bytes,
                          const ptx_bulk_reduction_t *reduction)
{
    const uint64_t offset_mask = (UINT64_C(1) << PTX_SHARED_RANK_SHIFT) - 1;
    if (!target->is_multicast) {
        issue_to(warp, instruction, lane, target->to, target->mbarrier, data, bytes, reduction);
        return;
    }
    for (uint64_t rank = 0; rank < 16; rank++) {
        uint64_t block = (rank + 1) << PTX_SHARED_RANK_SHIFT;
        if (target->blocks >> rank & 1)
            issue_to(warp, instruction, lane, block | (target->to & offset_mask),
                     block | (target->mbarrier & offset_mask), data, bytes, reduction);
    }
}

/* ---- Copies from shared memory ------------------------------------------------------------------------------------- */

const unsigned char *rungi_ptx_bulk_source(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                                           uint64_t from, uint32_t bytes)
{
    const unsigned char *memory = rungi_ptx_bulk_access(warp, instruction, lane, PTX_SPACE_SHARED, from, bytes,
                                                        PTX_READ);
    if (!memory)
        return NULL;
    ptx_async_read_t read = {
        .lane = (uint8_t)lane, .from = (uint32_t)from, .bytes = bytes, .group = warp->bulk_group[lane], .pc = warp->pc};
    if (warp->is_checked)
        rungi_ptx_check_proxy_read(warp, lane, read.from, bytes);
    rungi_ptx_async_read_add(warp, &read);
    return memory;
}

void rungi_ptx_bulk_write(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane, uint64_t to,
                          const unsigned char *data, uint32_t bytes, const ptx_bulk_reduction_t *reduction)
{
    unsigned char *memory = rungi_ptx_bulk_access(warp, instruction, lane, PTX_SPACE_GLOBAL, to, bytes,
                                                  reduction->is_used ? PTX_ATOMIC : PTX_WRITE);
    if (!memory)
        return;
    if (reduction->is_used)
        rungi_ptx_bulk_combine(memory, data, bytes, reduction);
    else
        memcpy(memory, data, bytes);
}
