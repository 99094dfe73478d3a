/* SPDX-License-Identifier: Apache-2.0 */
/* execute_bulk.c - bulk copies and tensor copies of single threads. Compiled once for all processors: the work is in machine/. */
#define PTX_VARIANT common
#include <stdlib.h>

#include "emulator/checks/checks.h"
#include "emulator/execute/execute.h"
#include "emulator/machine/bulk.h"
#include "emulator/ptx/hopper_operations.h"

/* Returns address `index` of the list for a lane. */
static uint64_t address_of(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int index, int lane)
{
    const ptx_operand_t *entry = &instruction->list[2 * (size_t)index];
    ptx_operand_t base = entry[0], offset = entry[1];
    bool is_wide = instruction->offset2 >> index & 1;
    uint64_t address = !base     ? 0
                       : is_wide ? ((const uint64_t *)rungi_ptx_lanes(warp, base))[lane]
                                 : ((const uint32_t *)rungi_ptx_lanes(warp, base))[lane];
    if (offset)
        address += ((const uint64_t *)rungi_ptx_lanes(warp, offset))[lane];
    return is_wide ? address : (uint32_t)address;
}

/* Returns an address in the shared::cluster window. */
static uint64_t shared_address(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int index, int lane)
{
    uint64_t address = address_of(warp, instruction, index, lane);
    if (instruction->offset2 >> index & 1) /* a symbol, or a generic address */
        address -= address >= PTX_SHARED_WINDOW ? PTX_SHARED_WINDOW : 0;
    return address;
}

static ptx_bulk_reduction_t reduction_of(const ptx_instruction_t *instruction, ptx_type_t type)
{
    return (ptx_bulk_reduction_t){.is_used = instruction->operation != 0,
                                  .operation = (uint8_t)(instruction->operation - PTX_BULK_REDUCES),
                                  .type = (uint8_t)type};
}

static ptx_bulk_target_t target_of(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane)
{
    ptx_bulk_target_t target = {.to = shared_address(warp, instruction, 0, lane),
                                .mbarrier = shared_address(warp, instruction, 2, lane),
                                .is_multicast = instruction->operand[1] != 0};
    if (target.is_multicast)
        target.blocks = ((const uint16_t *)OPERAND(1))[lane];
    return target;
}

/* Bulk copies have addresses and sizes that are multiples of 16. Reports others. */
static bool is_aligned(ptx_warp_t *warp, int lane, uint64_t to, uint64_t from, uint32_t bytes)
{
    enum { BYTES_MAX = 1 << 20 }; /* more than shared memory has */
    if ((to | from | bytes) % 16 == 0 && bytes > 0 && bytes <= BYTES_MAX)
        return true;
    rungi_ptx_report(
        warp, RUNG_EMULATOR_MISALIGNED, lane, to % 16 ? to : from, (int)bytes,
        "a bulk copy of %u bytes from 0x%llx to 0x%llx; addresses and size are multiples of 16, and the size is at most the shared memory",
        bytes, (unsigned long long)from, (unsigned long long)to);
    return false;
}

/* Returns whether two lanes have the same operands. */
static bool are_equal(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int x, int y)
{
    int coordinates = instruction->vector_length, addresses = (instruction->list_length - coordinates) / 2;
    const uint32_t *bytes = instruction->operand[0] ? OPERAND(0) : NULL;
    const uint16_t *blocks = instruction->operand[1] ? OPERAND(1) : NULL;
    bool is_equal = (!bytes || bytes[x] == bytes[y]) && (!blocks || blocks[x] == blocks[y]);
    for (int i = 0; i < addresses; i++)
        is_equal = is_equal && address_of(warp, instruction, i, x) == address_of(warp, instruction, i, y);
    for (int i = 0; i < coordinates; i++) {
        const uint32_t *values = rungi_ptx_lanes(warp, instruction->list[2 * addresses + i]);
        is_equal = is_equal && values[x] == values[y];
    }
    return is_equal;
}

/* Removes lanes with the operands of a lower lane: the hardware issues one copy for all of them. CUTLASS stores its results
 * with whole warps. */
static uint32_t issuing_lanes(const ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask)
{
    uint32_t issuing = 0;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        bool is_new = true;
        for (uint32_t others = issuing; is_new && others; others &= others - 1)
            is_new = !are_equal(warp, instruction, __builtin_ctz(lanes), __builtin_ctz(others));
        issuing |= is_new ? lanes & -lanes : 0;
    }
    return issuing;
}

/* ---- Bulk copies --------------------------------------------------------------------------------------------------- */

/* Executes a copy to shared memory for one lane. A source that was reported counts as zeros, so that nobody waits for ever. */
static void load(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane, ptx_space_t space)
{
    ptx_bulk_target_t target = target_of(warp, instruction, lane);
    ptx_bulk_reduction_t reduction = reduction_of(instruction, (ptx_type_t)instruction->type);
    uint32_t bytes = ((const uint32_t *)OPERAND(0))[lane];
    uint64_t from = space == PTX_SPACE_GLOBAL ? address_of(warp, instruction, 1, lane)
                                              : shared_address(warp, instruction, 1, lane);
    if (!is_aligned(warp, lane, target.to, from, bytes))
        return;
    unsigned char *zeros = calloc(1, bytes);
    const unsigned char *data = rungi_ptx_bulk_access(warp, instruction, lane, space, from, bytes, PTX_READ);
    if (data && space == PTX_SPACE_SHARED && warp->is_checked)
        rungi_ptx_check_proxy_read(warp, lane, (uint32_t)from, bytes);
    if (zeros)
        rungi_ptx_bulk_issue(warp, instruction, lane, &target, data ? data : zeros, bytes, &reduction);
    else
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "no memory for an asynchronous copy");
    free(zeros);
}

EXECUTOR(bulk_load)
{
    mask = issuing_lanes(warp, instruction, mask);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            load(warp, instruction, lane, PTX_SPACE_GLOBAL);
}

EXECUTOR(bulk_exchange)
{
    mask = issuing_lanes(warp, instruction, mask);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            load(warp, instruction, lane, PTX_SPACE_SHARED);
}

EXECUTOR(bulk_store)
{
    ptx_bulk_reduction_t reduction = reduction_of(instruction, (ptx_type_t)instruction->type);
    mask = issuing_lanes(warp, instruction, mask);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint32_t bytes = ((const uint32_t *)OPERAND(0))[lane];
        uint64_t to = address_of(warp, instruction, 0, lane), from = shared_address(warp, instruction, 1, lane);
        if (!is_aligned(warp, lane, to, from, bytes))
            continue;
        const unsigned char *data = rungi_ptx_bulk_source(warp, instruction, lane, from, bytes);
        if (data)
            rungi_ptx_bulk_write(warp, instruction, lane, to, data, bytes, &reduction);
    }
}

EXECUTOR(async_store)
{
    ptx_bulk_reduction_t reduction = reduction_of(instruction, (ptx_type_t)instruction->type);
    size_t size = instruction->element_bytes;
    uint32_t bytes = (uint32_t)(size * instruction->vector_length);
    for (size_t lane = 0; lane < PTX_WARP_LANES; lane++) {
        unsigned char data[32];
        if (!(mask >> lane & 1))
            continue;
        ptx_bulk_target_t target = target_of(warp, instruction, (int)lane);
        for (size_t i = 0; i < instruction->vector_length; i++)
            memcpy(data + i * size,
                   (const unsigned char *)rungi_ptx_lanes(warp, instruction->list[6 + i]) + lane * size, size);
        if (target.to % bytes == 0)
            rungi_ptx_bulk_issue(warp, instruction, (int)lane, &target, data, bytes, &reduction);
        else
            rungi_ptx_report(warp, RUNG_EMULATOR_MISALIGNED, (int)lane, target.to, (int)bytes,
                             "an asynchronous store of %u bytes at 0x%llx, which is not a multiple of %u", bytes,
                             (unsigned long long)target.to, bytes);
    }
}

EXECUTOR(bulk_commit)
{
    (void)instruction;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        warp->bulk_group[lane] += mask >> lane & 1;
}

EXECUTOR(bulk_wait)
{
    int64_t limit[PTX_WARP_LANES];
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        limit[lane] = (int64_t)warp->bulk_group[lane] - instruction->offset;
    rungi_ptx_async_reads_end(warp, mask, false, limit);
}

/* ---- Tensors ------------------------------------------------------------------------------------------------------- */

static void read_coordinates(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                             int32_t coordinates[PTX_TENSOR_RANK_MAX])
{
    int first = instruction->list_length - instruction->vector_length;
    for (int i = 0; i < instruction->vector_length; i++)
        coordinates[i] = ((const int32_t *)rungi_ptx_lanes(warp, instruction->list[first + i]))[lane];
}

static bool is_box_aligned(ptx_warp_t *warp, int lane, uint64_t address)
{
    if (address % 128 == 0)
        return true;
    rungi_ptx_report(warp, RUNG_EMULATOR_MISALIGNED, lane, address, 128,
                     "a tensor copy with the shared address 0x%llx, which is not a multiple of 128",
                     (unsigned long long)address);
    return false;
}

static void load_tensor(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane)
{
    const ptx_bulk_reduction_t none = {0};
    int32_t coordinates[PTX_TENSOR_RANK_MAX];
    ptx_bulk_target_t target = target_of(warp, instruction, lane);
    const ptx_tensor_map_t *map = rungi_ptx_tensor_map(warp, lane, address_of(warp, instruction, 1, lane),
                                                       instruction->vector_length);
    if (!map || !is_box_aligned(warp, lane, target.to))
        return;
    uint32_t bytes = rungi_ptx_tensor_box_bytes(map);
    uint64_t offset = target.to & ((UINT64_C(1) << PTX_SHARED_RANK_SHIFT) - 1);
    unsigned char *data = malloc(bytes + 1024); /* the swizzle may leave a box that is not aligned to it */
    if (!data) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "no memory for an asynchronous copy");
        return;
    }
    read_coordinates(warp, instruction, lane, coordinates);
    rungi_ptx_tensor_load(warp, instruction, lane, map, coordinates, offset, data);
    rungi_ptx_bulk_issue(warp, instruction, lane, &target, data, bytes, &none);
    free(data);
}

EXECUTOR(tensor_load)
{
    mask = issuing_lanes(warp, instruction, mask);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            load_tensor(warp, instruction, lane);
}

/* Types of reductions of tensors; 0: none. */
static const uint8_t reduced_types[PTX_TENSOR_TYPE_COUNT] = {
    0, 0, PTX_U32, PTX_S32, PTX_U64, PTX_S64, PTX_F16, PTX_F32, PTX_F64, PTX_BF16, PTX_F32, 0, 0};

EXECUTOR(tensor_store)
{
    mask = issuing_lanes(warp, instruction, mask);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        int32_t coordinates[PTX_TENSOR_RANK_MAX];
        if (!(mask >> lane & 1))
            continue;
        const ptx_tensor_map_t *map = rungi_ptx_tensor_map(warp, lane, address_of(warp, instruction, 0, lane),
                                                           instruction->vector_length);
        uint64_t from = shared_address(warp, instruction, 1, lane);
        if (!map || !is_box_aligned(warp, lane, from))
            continue;
        ptx_bulk_reduction_t reduction = reduction_of(instruction, (ptx_type_t)reduced_types[map->type]);
        if (reduction.is_used && !reduction.type) {
            rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "the tensor's type has no reductions");
            continue;
        }
        const unsigned char *data = rungi_ptx_bulk_source(warp, instruction, lane, from,
                                                          rungi_ptx_tensor_box_bytes(map));
        read_coordinates(warp, instruction, lane, coordinates);
        if (data)
            rungi_ptx_tensor_store(warp, instruction, lane, map, coordinates, from, data, &reduction);
    }
}

PTX_EXECUTORS(bulk) = {E(bulk_load), E(bulk_exchange), E(bulk_store),   E(async_store), E(bulk_commit),
                       E(bulk_wait), E(tensor_load),   E(tensor_store), {NULL, NULL}};
