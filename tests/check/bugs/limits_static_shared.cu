/* SPDX-License-Identifier: Apache-2.0 */
/* limits_static_shared.cu - 64 KiB of static shared memory */
// rung: grid=1 block=64 x=f32[16384] y=f32[16384]:none
__global__ void reverse(const float *x, float *y) // BUG limit
{
    __shared__ float data[16384]; // BUG limit
    for (int i = threadIdx.x; i < 16384; i += 64)
        data[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 16384; i += 64)
        y[i] = data[16383 - i];
}
