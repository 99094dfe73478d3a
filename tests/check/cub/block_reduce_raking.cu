/* SPDX-License-Identifier: Apache-2.0 */
/* block_reduce_raking.cu - cub::BlockReduce with the raking algorithm: the maximum of the first 100 threads. */
// rung: grid=2 block=128 in=i32[256]:in.npy out=i32[2]:none
#include <cub/block/block_reduce.cuh>

struct larger {
    __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

extern "C" __global__ void block_reduce_raking(const int *in, int *out)
{
    typedef cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING> reduce;
    __shared__ typename reduce::TempStorage storage;
    int best = reduce(storage).Reduce(in[blockIdx.x * 128 + threadIdx.x], larger(), 100);
    if (threadIdx.x == 0)
        out[blockIdx.x] = best;
}
