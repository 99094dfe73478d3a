/* SPDX-License-Identifier: Apache-2.0 */
/* driver_tensor.c - cuTensorMapEncodeTiled and others, which fill the opaque CUtensorMap in the emulator's own format. */
#include "emulator/driver/driver.h"
#include "emulator/machine/tensor_map.h"

enum { MAP_ALIGNMENT = 64 };

static bool is_float(CUtensorMapDataType type)
{
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

/* Returns whether cuda.h has these values. The emulator does not implement all of them. The promotion to the L2 cache has no
 * effect on results. */
static bool are_enumerators(CUtensorMapDataType type, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return (unsigned)type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B &&
           (unsigned)interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
           (unsigned)swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
           (unsigned)promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
           (fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
            (fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA && is_float(type)));
}

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                        const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                        const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill fill)
{
    if (!map || (uintptr_t)map % MAP_ALIGNMENT != 0 || !sizes || !box || !steps || (rank > 1 && !strides) ||
        rank > PTX_TENSOR_RANK_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (!are_enumerators(type, interleave, swizzle, promotion, fill))
        return CUDA_ERROR_INVALID_VALUE;
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || (unsigned)swizzle > PTX_SWIZZLE_128B ||
        (unsigned)type >= PTX_TENSOR_TYPE_COUNT)
        return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t size[PTX_TENSOR_RANK_MAX], stride[PTX_TENSOR_RANK_MAX] = {0};
    for (cuuint32_t i = 0; i < rank; i++) {
        size[i] = sizes[i];
        if (i + 1 < rank)
            stride[i] = strides[i];
    }
    const ptx_tensor_t tensor = {.address = (uint64_t)(uintptr_t)address,
                                 .sizes = size,
                                 .strides = stride,
                                 .box = box,
                                 .steps = steps,
                                 .rank = rank,
                                 .type = (uint32_t)type,
                                 .swizzle = (uint32_t)swizzle,
                                 .fills_nan = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA};
    if (!rungi_ptx_tensor_is_valid(&tensor))
        return CUDA_ERROR_INVALID_VALUE;
    ptx_tensor_map_t encoded;
    rungi_ptx_tensor_encode(&tensor, &encoded);
    memcpy(map, &encoded, sizeof encoded);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                         const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower,
                                         const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                         const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                         CUtensorMapFloatOOBfill fill)
{
    (void)map, (void)type, (void)rank, (void)address, (void)sizes, (void)strides, (void)lower, (void)upper;
    (void)channels, (void)pixels, (void)steps, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    return CUDA_ERROR_NOT_SUPPORTED; /* the emulator does not execute copies in im2col mode */
}

CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    ptx_tensor_map_t encoded;
    if (!map || (uintptr_t)address % 16 != 0)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&encoded, map, sizeof encoded);
    if (encoded.magic != PTX_TENSOR_MAP_MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    encoded.address = (uint64_t)(uintptr_t)address;
    memcpy(map, &encoded, sizeof encoded);
    return CUDA_SUCCESS;
}
