/* SPDX-License-Identifier: Apache-2.0 */
/* block_adjacent_difference.cu - cub::BlockAdjacentDifference: each item minus the previous one. */
// rung: grid=2 block=128 in=i32[1024]:in.npy out=i32[1024]:none
#include <cub/block/block_adjacent_difference.cuh>

struct minus {
    __device__ int operator()(int a, int b) const { return a - b; }
};

extern "C" __global__ void block_adjacent_difference(const int *in, int *out)
{
    typedef cub::BlockAdjacentDifference<int, 128> difference;
    __shared__ typename difference::TempStorage storage;
    int items[4], results[4], first = blockIdx.x * 512 + threadIdx.x * 4;
    for (int i = 0; i < 4; i++)
        items[i] = in[first + i];
    difference(storage).SubtractLeft(items, results, minus());
    for (int i = 0; i < 4; i++)
        out[first + i] = results[i];
}
