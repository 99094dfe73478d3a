/* SPDX-License-Identifier: Apache-2.0 */
/* scan_warp_shuffle.cu - shuffles within a warp, sums of warps in shared memory */
// rung: grid=1 block=256 x=i32[256] y=i32[256]:none
__global__ void inclusive_scan(const int *x, int *y)
{
    __shared__ int totals[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, value = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, d);
        if (lane >= d)
            value += other;
    }
    if (lane == 31)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int total = lane < 8 ? totals[lane] : 0;
        for (int d = 1; d < 8; d *= 2) {
            int other = __shfl_up_sync(0xffffffffu, total, d);
            if (lane >= d)
                total += other;
        }
        if (lane < 8)
            totals[lane] = total;
    }
    __syncthreads();
    y[threadIdx.x] = value + (warp > 0 ? totals[warp - 1] : 0);
}
