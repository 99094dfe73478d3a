/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_copy.c - loads and stores boxes of tensors (cp.async.bulk.tensor in tile mode).
 *
 * A box is dense in shared memory, dimension 0 first; the swizzle then exchanges chunks of 16 bytes by the bits of their
 * address. Elements outside of the tensor are loaded as zeros or NaN, and not stored. */
#include <string.h>

#include "emulator/machine/bulk.h"

/* Returns whether a map is one that rungi_ptx_tensor_encode() has written: a kernel may have changed its memory. */
static bool is_valid(const ptx_tensor_map_t *map)
{
    bool is_valid = map->magic == PTX_TENSOR_MAP_MAGIC && map->rank >= 1 && map->rank <= PTX_TENSOR_RANK_MAX &&
                    map->type < PTX_TENSOR_TYPE_COUNT && map->swizzle <= PTX_SWIZZLE_128B;
    for (int i = 0; is_valid && i < map->rank; i++)
        is_valid = map->box[i] >= 1 && map->box[i] <= 256 && map->step[i] >= 1;
    return is_valid;
}

const ptx_tensor_map_t *rungi_ptx_tensor_map(ptx_warp_t *warp, int lane, uint64_t address, int rank)
{
    uint64_t offset = address;
    ptx_space_t space = rungi_ptx_resolve_space(PTX_SPACE_GENERIC, &offset);
    const ptx_tensor_map_t *map = (const ptx_tensor_map_t *)(const void *)rungi_ptx_host_address(
        warp, lane, space, offset, (int)sizeof *map);
    if (!map || offset % 64 != 0 || !is_valid(map)) {
        rungi_ptx_fault(
            warp, RUNG_EMULATOR_TRAP, lane,
            "the tensor map at 0x%llx is not one that cuTensorMapEncodeTiled has written, at a multiple of 64",
            (unsigned long long)address);
        return NULL;
    }
    if (map->rank != rank) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane,
                        "the tensor has %d dimensions; the instruction has %d coordinates", map->rank, rank);
        return NULL;
    }
    return map;
}

/* Positions of the box in a dimension: every step-th element. Dimension 0 has no steps. */
static uint32_t positions(const ptx_tensor_map_t *map, int dimension)
{
    uint32_t step = dimension == 0 ? 1 : map->step[dimension];
    return (map->box[dimension] + step - 1) / step;
}

uint32_t rungi_ptx_tensor_box_bytes(const ptx_tensor_map_t *map)
{
    uint32_t bytes = (uint32_t)rungi_ptx_tensor_element_bytes((ptx_tensor_type_t)map->type);
    for (int i = 0; i < map->rank; i++)
        bytes *= positions(map, i);
    return bytes;
}

/* One row of a box: its elements of dimension 0. */
typedef struct row {
    uint64_t address;      /* in global memory, of its first element inside of the tensor */
    uint32_t first, count; /* bytes outside of the tensor before it, and bytes inside */
} row_t;

/* Finds the part of row `index` of the box that is inside of the tensor. */
static row_t find_row(const ptx_tensor_map_t *map, const int32_t *coordinates, uint32_t index)
{
    int64_t bytes = rungi_ptx_tensor_element_bytes((ptx_tensor_type_t)map->type);
    uint64_t address = map->address;
    for (int i = 1; i < map->rank; i++) {
        uint32_t count = positions(map, i);
        int64_t at = coordinates[i] + (int64_t)(index % count) * map->step[i];
        if (at < 0 || at > (int64_t)map->last[i])
            return (row_t){0};
        address += (uint64_t)at * map->stride[i - 1];
        index /= count;
    }
    int64_t begin = coordinates[0] < 0 ? -(int64_t)coordinates[0] : 0, end = (int64_t)map->last[0] + 1 - coordinates[0];
    end = end > map->box[0] ? map->box[0] : end;
    if (begin >= end)
        return (row_t){0};
    return (row_t){.address = address + (uint64_t)((coordinates[0] + begin) * bytes),
                   .first = (uint32_t)(begin * bytes),
                   .count = (uint32_t)((end - begin) * bytes)};
}

/* Copies a row between a plain row and the swizzled box at offset `base` of shared memory. */
static void move_row(unsigned char *box, uint64_t base, uint64_t at, unsigned char *plain, uint32_t bytes,
                     ptx_tensor_swizzle_t swizzle, bool to_box)
{
    for (uint32_t i = 0; i < bytes;) {
        uint32_t count = 16 - (uint32_t)((base + at + i) % 16);
        count = count > bytes - i ? bytes - i : count;
        unsigned char *place = box + (rungi_ptx_swizzle(base + at + i, swizzle) - base);
        if (to_box)
            memcpy(place, plain + i, count);
        else
            memcpy(plain + i, place, count);
        i += count;
    }
}

static void fill(const ptx_tensor_map_t *map, unsigned char *row, uint32_t bytes)
{
    static const unsigned char nan16[2] = {0xff, 0x7f}, nan32[4] = {0xff, 0xff, 0xff, 0x7f},
                               nan64[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    uint32_t size = (uint32_t)rungi_ptx_tensor_element_bytes((ptx_tensor_type_t)map->type);
    const unsigned char *nan = size == 2 ? nan16 : size == 4 ? nan32 : nan64;
    memset(row, 0, bytes);
    for (uint32_t i = 0; map->fills_nan && map->type >= PTX_TENSOR_F16 && i < bytes; i += size)
        memcpy(row + i, nan, size);
}

enum { ROW_BYTES_MAX = 256 * 8 };

void rungi_ptx_tensor_load(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                           const ptx_tensor_map_t *map, const int32_t coordinates[PTX_TENSOR_RANK_MAX], uint64_t to,
                           unsigned char *data)
{
    uint32_t row_bytes = map->box[0] * (uint32_t)rungi_ptx_tensor_element_bytes((ptx_tensor_type_t)map->type);
    uint32_t rows = rungi_ptx_tensor_box_bytes(map) / row_bytes;
    for (uint32_t i = 0; i < rows; i++) {
        unsigned char plain[ROW_BYTES_MAX];
        row_t row = find_row(map, coordinates, i);
        fill(map, plain, row_bytes);
        const unsigned char *from = row.count ? rungi_ptx_bulk_access(warp, instruction, lane, PTX_SPACE_GLOBAL,
                                                                      row.address, row.count, PTX_READ)
                                              : NULL;
        if (from)
            memcpy(plain + row.first, from, row.count);
        move_row(data, to, (uint64_t)i * row_bytes, plain, row_bytes, (ptx_tensor_swizzle_t)map->swizzle, true);
    }
}

void rungi_ptx_tensor_store(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                            const ptx_tensor_map_t *map, const int32_t coordinates[PTX_TENSOR_RANK_MAX], uint64_t from,
                            const unsigned char *data, const ptx_bulk_reduction_t *reduction)
{
    uint32_t row_bytes = map->box[0] * (uint32_t)rungi_ptx_tensor_element_bytes((ptx_tensor_type_t)map->type);
    uint32_t rows = rungi_ptx_tensor_box_bytes(map) / row_bytes;
    for (uint32_t i = 0; i < rows; i++) {
        unsigned char plain[ROW_BYTES_MAX];
        row_t row = find_row(map, coordinates, i);
        if (!row.count)
            continue;
        move_row((unsigned char *)(uintptr_t)data, from, (uint64_t)i * row_bytes, plain, row_bytes,
                 (ptx_tensor_swizzle_t)map->swizzle, false);
        rungi_ptx_bulk_write(warp, instruction, lane, row.address, plain + row.first, row.count, reduction);
    }
}
