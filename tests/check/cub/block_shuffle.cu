/* SPDX-License-Identifier: Apache-2.0 */
/* block_shuffle.cu - cub::BlockShuffle: rotates the items of each block by 5 threads. */
// rung: grid=2 block=128 in=i32[256]:in.npy out=i32[256]:none
#include <cub/block/block_shuffle.cuh>

extern "C" __global__ void block_shuffle(const int *in, int *out)
{
    typedef cub::BlockShuffle<int, 128> shuffle;
    __shared__ typename shuffle::TempStorage storage;
    int item = in[blockIdx.x * 128 + threadIdx.x], other;
    shuffle(storage).Rotate(item, other, 5);
    out[blockIdx.x * 128 + threadIdx.x] = other;
}
