/* SPDX-License-Identifier: Apache-2.0 */
/* block_reduce.cu - cub::BlockReduce: the sum of each block. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[2]:none
#include <cub/block/block_reduce.cuh>

extern "C" __global__ void block_reduce(const int *in, int *out)
{
    typedef cub::BlockReduce<int, 128> reduce;
    __shared__ typename reduce::TempStorage storage;
    int items[4];
    for (int i = 0; i < 4; i++)
        items[i] = in[blockIdx.x * 512 + threadIdx.x * 4 + i];
    int sum = reduce(storage).Sum(items);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}
