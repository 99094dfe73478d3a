/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_uniform_branch.cu - a barrier in a branch that the whole block takes */
// rung: grid=4 block=64 x=f32[256] y=f32[256]:none
__global__ void alternate(const float *x, float *y)
{
    __shared__ float data[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    data[threadIdx.x] = x[i];
    if (blockIdx.x % 2 == 0) {
        __syncthreads();
        y[i] = data[63 - threadIdx.x];
    } else {
        y[i] = data[threadIdx.x];
    }
}
