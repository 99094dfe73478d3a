/* SPDX-License-Identifier: Apache-2.0 */
/* block_radix_sort.cu - cub::BlockRadixSort: sorts each block. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[1024]:none
#include <cub/block/block_radix_sort.cuh>

extern "C" __global__ void block_radix_sort(const int *in, int *out)
{
    typedef cub::BlockRadixSort<int, 128, 4> sort;
    __shared__ typename sort::TempStorage storage;
    int items[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++)
        items[i] = in[first + i];
    sort(storage).Sort(items);
    for (int i = 0; i < 4; i++)
        out[first + i] = items[i];
}
