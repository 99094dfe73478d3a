/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_two_pass.cu - two kernels */
// rung: kernel=first grid=8 block=128 x=f32[1024] partial=f32[8]:none
// rung: kernel=second grid=1 block=32 partial=f32[8]:none sum=f32[1]:none count=8
__global__ void first(const float *x, float *partial)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = s[0];
}
__global__ void second(const float *partial, float *sum, int count)
{
    float value = threadIdx.x < count ? partial[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, d);
    if (threadIdx.x == 0)
        *sum = value;
}
