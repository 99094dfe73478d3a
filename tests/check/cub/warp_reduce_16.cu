/* SPDX-License-Identifier: Apache-2.0 */
/* warp_reduce_16.cu - cub::WarpReduce for 16 lanes, and sums of segments that begin where a flag is set. */
// rung: grid=1 block=64 in=i32[64]:in.npy out=i32[4]:none segments=i32[64]:none
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void warp_reduce_16(const int *in, int *out, int *segments)
{
    typedef cub::WarpReduce<int, 16> reduce;
    typedef cub::WarpReduce<int> whole;
    __shared__ typename reduce::TempStorage storage[4];
    __shared__ typename whole::TempStorage other[2];
    int item = in[threadIdx.x];
    int sum = reduce(storage[threadIdx.x / 16]).Sum(item);
    if (threadIdx.x % 16 == 0)
        out[threadIdx.x / 16] = sum;
    int segment = whole(other[threadIdx.x / 32]).HeadSegmentedSum(item, threadIdx.x % 5 == 0);
    segments[threadIdx.x] = threadIdx.x % 5 == 0 || threadIdx.x % 32 == 0 ? segment : 0;
}
