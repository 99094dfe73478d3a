/* SPDX-License-Identifier: Apache-2.0 */
/* warp_reduce.cu - cub::WarpReduce: the sum of each warp. */
// rung: grid=2 block=128 in=i32[256]:in.npy out=i32[8]:none
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void warp_reduce(const int *in, int *out)
{
    typedef cub::WarpReduce<int> reduce;
    __shared__ typename reduce::TempStorage storage[4];
    int warp = threadIdx.x / 32;
    int sum = reduce(storage[warp]).Sum(in[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x % 32 == 0)
        out[blockIdx.x * 4 + warp] = sum;
}
