/* SPDX-License-Identifier: Apache-2.0 */
/* block_scan.cu - cub::BlockScan: exclusive sums of each block. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[1024]:none
#include <cub/block/block_scan.cuh>

extern "C" __global__ void block_scan(const int *in, int *out)
{
    typedef cub::BlockScan<int, 128> scan;
    __shared__ typename scan::TempStorage storage;
    int items[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++)
        items[i] = in[first + i];
    scan(storage).ExclusiveSum(items, items);
    for (int i = 0; i < 4; i++)
        out[first + i] = items[i];
}
