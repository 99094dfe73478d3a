/* SPDX-License-Identifier: Apache-2.0 */
/* warp_scan.cu - cub::WarpScan: inclusive sums of each warp. */
// rung: grid=2 block=128 in=i32[256]:in.npy out=i32[256]:none
#include <cub/warp/warp_scan.cuh>

extern "C" __global__ void warp_scan(const int *in, int *out)
{
    typedef cub::WarpScan<int> scan;
    __shared__ typename scan::TempStorage storage[4];
    int item = in[blockIdx.x * 128 + threadIdx.x];
    scan(storage[threadIdx.x / 32]).InclusiveSum(item, item);
    out[blockIdx.x * 128 + threadIdx.x] = item;
}
