/* SPDX-License-Identifier: Apache-2.0 */
/* small_overrun_prefix_sum.cu - n + 1 results in an array of n */
// rung: grid=1 block=32 x=i32[n] offsets=i32[n]:none n=31
__global__ void offsets_of(const int *x, int *offsets, int n)
{
    int lane = threadIdx.x, value = lane < n ? x[lane] : 0;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, d);
        if (lane >= d)
            value += other;
    }
    if (lane == 0)
        offsets[0] = 0;
    if (lane < n)
        offsets[lane + 1] = value; // BUG out-of-bounds
}
