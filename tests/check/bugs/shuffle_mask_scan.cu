/* SPDX-License-Identifier: Apache-2.0 */
/* shuffle_mask_scan.cu - lanes exit, and the shuffles of a suffix scan read them */
// rung: grid=1 block=64 x=i32[n] y=i32[n]:none n=50
__global__ void suffix_scan(const int *x, int *y, int n)
{
    int i = threadIdx.x, lane = threadIdx.x % 32;
    if (i >= n)
        return;
    int value = x[i];
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_down_sync(0xffffffffu, value, d); // BUG warp-sync
        if (lane + d < 32)
            value += other;
    }
    y[i] = value;
}
