/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_map.h - what the driver's cuTensorMapEncodeTiled writes into a CUtensorMap, and what the tensor copies of kernels read.
 *
 * The format of the hardware is not documented; this one is the emulator's own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PTX_TENSOR_MAP_MAGIC UINT64_C(0x3170616d676e7572) /* "rungmap1" */
enum { PTX_TENSOR_RANK_MAX = 5 };

typedef enum ptx_tensor_swizzle {
    PTX_SWIZZLE_NONE,
    PTX_SWIZZLE_32B,
    PTX_SWIZZLE_64B,
    PTX_SWIZZLE_128B
} ptx_tensor_swizzle_t;

/* Types of elements: the order of CUtensorMapDataType. */
typedef enum ptx_tensor_type {
    PTX_TENSOR_U8,
    PTX_TENSOR_U16,
    PTX_TENSOR_U32,
    PTX_TENSOR_S32,
    PTX_TENSOR_U64,
    PTX_TENSOR_S64,
    PTX_TENSOR_F16,
    PTX_TENSOR_F32,
    PTX_TENSOR_F64,
    PTX_TENSOR_BF16,
    PTX_TENSOR_F32_FTZ,
    PTX_TENSOR_TF32,
    PTX_TENSOR_TF32_FTZ,
    PTX_TENSOR_TYPE_COUNT
} ptx_tensor_type_t;

typedef struct ptx_tensor_map {
    uint64_t magic;
    uint64_t address;                         /* of the tensor in global memory */
    uint64_t stride[PTX_TENSOR_RANK_MAX - 1]; /* bytes, of dimensions 1 and up */
    uint32_t last[PTX_TENSOR_RANK_MAX];       /* highest index of each dimension */
    uint16_t box[PTX_TENSOR_RANK_MAX];        /* elements; 1 to 256 */
    uint8_t step[PTX_TENSOR_RANK_MAX];        /* of the traversal; 1 to 8 */
    uint8_t rank, type, swizzle, fills_nan;
    uint8_t reserved[37];
} ptx_tensor_map_t;
_Static_assert(sizeof(ptx_tensor_map_t) == 128, "a CUtensorMap has 128 bytes");

/* Returns the bytes of an element. */
static inline int rungi_ptx_tensor_element_bytes(ptx_tensor_type_t type)
{
    static const uint8_t bytes[PTX_TENSOR_TYPE_COUNT] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return bytes[type];
}

/* Returns where the swizzle puts the byte at an offset of shared memory. Chunks of 16 bytes change places within rows of 128
 * bytes, as bits 7 and up of the offset say. */
static inline uint64_t rungi_ptx_swizzle(uint64_t offset, ptx_tensor_swizzle_t swizzle)
{
    uint64_t bits = (UINT64_C(1) << swizzle) - 1; /* 0, 1, 3, 7 */
    return offset ^ (offset >> 7 & bits) << 4;
}

/* What describes a tensor: the arguments of cuTensorMapEncodeTiled. */
typedef struct ptx_tensor {
    uint64_t address;
    const uint64_t *sizes, *strides; /* strides: bytes, of dimensions 1 and up */
    const uint32_t *box, *steps;
    uint32_t rank, type, swizzle;
    bool fills_nan;
} ptx_tensor_t;

/* Returns whether a tensor obeys the rules of cuTensorMapEncodeTiled without interleaving. */
static inline bool rungi_ptx_tensor_is_valid(const ptx_tensor_t *tensor)
{
    if (tensor->rank < 1 || tensor->rank > PTX_TENSOR_RANK_MAX || tensor->type >= PTX_TENSOR_TYPE_COUNT ||
        tensor->swizzle > PTX_SWIZZLE_128B || tensor->address % 16 != 0 || tensor->address == 0)
        return false;
    uint64_t row = (uint64_t)tensor->box[0] * (uint64_t)rungi_ptx_tensor_element_bytes((ptx_tensor_type_t)tensor->type);
    bool is_valid = row % 16 == 0 && (tensor->swizzle == PTX_SWIZZLE_NONE || row <= UINT64_C(16) << tensor->swizzle);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        is_valid = is_valid && tensor->sizes[i] >= 1 && tensor->sizes[i] <= UINT64_C(1) << 32 && tensor->box[i] >= 1 &&
                   tensor->box[i] <= 256 && tensor->steps[i] >= 1 && tensor->steps[i] <= 8;
        if (i + 1 < tensor->rank)
            is_valid = is_valid && tensor->strides[i] % 16 == 0 && tensor->strides[i] < UINT64_C(1) << 40;
    }
    return is_valid;
}

/* Writes the map of a valid tensor. */
static inline void rungi_ptx_tensor_encode(const ptx_tensor_t *tensor, ptx_tensor_map_t *map)
{
    memset(map, 0, sizeof *map);
    map->magic = PTX_TENSOR_MAP_MAGIC;
    map->address = tensor->address;
    map->rank = (uint8_t)tensor->rank;
    map->type = (uint8_t)tensor->type;
    map->swizzle = (uint8_t)tensor->swizzle;
    map->fills_nan = tensor->fills_nan;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        map->last[i] = (uint32_t)(tensor->sizes[i] - 1);
        map->box[i] = (uint16_t)tensor->box[i];
        map->step[i] = (uint8_t)tensor->steps[i];
        if (i + 1 < tensor->rank)
            map->stride[i] = tensor->strides[i];
    }
}
