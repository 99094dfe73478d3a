/* SPDX-License-Identifier: Apache-2.0 */
/* cub_reuse.cu - a common mistake with CUB: the storage of a reduction is used again without a barrier. */
// rung: grid=2 block=128 in=i32[256] out=i32[4]:none
#include <cub/block/block_reduce.cuh>

extern "C" __global__ void cub_reuse(const int *in, int *out)
{
    typedef cub::BlockReduce<int, 128> reduce;
    __shared__ typename reduce::TempStorage storage;
    int item = in[blockIdx.x * 128 + threadIdx.x];
    int sum = reduce(storage).Sum(item);
    int squares = reduce(storage).Sum(item * item);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = sum;
        out[2 * blockIdx.x + 1] = squares;
    }
}
