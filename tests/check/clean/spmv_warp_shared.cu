/* SPDX-License-Identifier: Apache-2.0 */
/* spmv_warp_shared.cu - sums of the lanes in shared memory with __syncwarp() */
// rung: grid=2 block=64 values=f32[4*40] x=f32[40] y=f32[4]:none
__global__ void spmv(const float *values, const float *x, float *y)
{
    __shared__ volatile float sums[64];
    int lane = threadIdx.x % 32, row = (blockIdx.x * 64 + threadIdx.x) / 32;
    float sum = 0.0f;
    for (int j = lane; j < 40; j += 32)
        sum += values[row * 40 + j] * x[j];
    sums[threadIdx.x] = sum;
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        if (lane < d)
            sums[threadIdx.x] = sum = sum + sums[threadIdx.x + d];
        __syncwarp();
    }
    if (lane == 0)
        y[row] = sum;
}
