/* SPDX-License-Identifier: Apache-2.0 */
/* driver_occupancy.c - how many blocks of a function fit on a multiprocessor, by threads, shared memory and the largest
 * number of blocks. The number of registers is a decision of ptxas and does not limit the blocks here. */
#include <stdint.h>

#include "emulator/driver/driver.h"

enum { WARP = 32, SHARED_UNIT = 128 };

static int attribute(CUdevice_attribute what)
{
    int value = 0;
    return cuDeviceGetAttribute(&value, what, 0) == CUDA_SUCCESS ? value : 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Returns the shared memory that a block occupies. */
static size_t shared_of_block(int static_bytes, size_t dynamic)
{
    size_t bytes = (size_t)static_bytes + dynamic;
    bytes = (bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    return bytes + (size_t)attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                             size_t shared)
{
    int static_bytes = 0, most = 0, dynamic = 0;
    if (!blocks || threads < 1)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuFuncGetAttribute(&static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    if (result == CUDA_SUCCESS)
        result = cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (result == CUDA_SUCCESS)
        result = cuFuncGetAttribute(&dynamic, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
    if (result != CUDA_SUCCESS)
        return result;
    *blocks = 0;
    if (threads > most || shared > (size_t)dynamic)
        return CUDA_SUCCESS; /* no such block can run */
    int rounded = (threads + WARP - 1) / WARP * WARP;
    int by_threads = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / rounded;
    size_t of_block = shared_of_block(static_bytes, shared);
    size_t of_unit = (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    int by_shared = of_block > 0 ? (int)(of_unit / of_block) : by_threads;
    *blocks = smaller(smaller(by_threads, by_shared), attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int threads,
                                                                      size_t shared, unsigned int flags)
{
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE
                     : cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

/* Tries all block sizes from the largest down; the first with the most threads per multiprocessor wins. */
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                                  CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
    int most = 0, best = 0;
    if (!grid || !block)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (limit > 0 && limit < most)
        most = limit;
    *grid = *block = 0;
    int units = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    for (int threads = (most + WARP - 1) / WARP * WARP; result == CUDA_SUCCESS && threads > 0; threads -= WARP) {
        int blocks = 0, here = smaller(threads, most);
        result = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, here,
                                                             shared_of ? shared_of(here) : shared);
        if (result == CUDA_SUCCESS && blocks * here > best) {
            best = blocks * here;
            *block = here;
            *grid = blocks * units;
        }
    }
    return result;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                           CUoccupancyB2DSize shared_of, size_t shared, int limit,
                                                           unsigned int flags)
{
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE
                     : cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, shared, limit);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks, int threads)
{
    int static_bytes = 0;
    if (!bytes || blocks < 1 || threads < 1)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuFuncGetAttribute(&static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    if (result != CUDA_SUCCESS)
        return result;
    int per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / blocks;
    int left = per_block - attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) - static_bytes;
    int most = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - static_bytes;
    left = smaller(left, most) / SHARED_UNIT * SHARED_UNIT;
    *bytes = left > 0 ? (size_t)left : 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const CUlaunchConfig *config)
{
    enum { PORTABLE_CLUSTER = 8 };
    (void)function;
    if (!size || !config)
        return CUDA_ERROR_INVALID_VALUE;
    *size = attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) ? PORTABLE_CLUSTER : 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config)
{
    int blocks = 0;
    unsigned size = 1;
    if (!clusters || !config)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            size = config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
                   config->attrs[i].value.clusterDim.z;
    CUresult result = cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, (int)(config->blockDimX * config->blockDimY * config->blockDimZ), config->sharedMemBytes);
    if (result == CUDA_SUCCESS)
        *clusters = blocks * attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) / (int)(size ? size : 1);
    return result;
}
