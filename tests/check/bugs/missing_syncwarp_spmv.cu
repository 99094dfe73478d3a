/* SPDX-License-Identifier: Apache-2.0 */
/* missing_syncwarp_spmv.cu - one row per warp, the sums of the lanes are added in shared memory */
// rung: grid=2 block=64 row_ptr=i32[5]:iota values=f32[64] x=f32[16] y=f32[4]:none
__global__ void spmv(const int *row_ptr, const float *values, const float *x, float *y)
{
    __shared__ float sums[64];
    int lane = threadIdx.x % 32, row = (blockIdx.x * 64 + threadIdx.x) / 32;
    float sum = 0.0f;
    for (int j = row_ptr[row] + lane; j < row_ptr[row + 1]; j += 32)
        sum += values[j] * x[j % 16];
    sums[threadIdx.x] = sum; // BUG race
    for (int d = 16; d > 0; d /= 2)
        if (lane < d)
            sums[threadIdx.x] += sums[threadIdx.x + d]; // BUG race
    if (lane == 0)
        y[row] = sums[threadIdx.x];
}
