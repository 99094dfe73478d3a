/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_split_k_atomic.cu - slices of K are added with atomics */
// rung: grid=2,2,4 block=8,8 a=f32[16*32] b=f32[32*16] c=f32[16*16]:zero
__global__ void sgemm(const float *a, const float *b, float *c)
{
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.z * 8; i < blockIdx.z * 8 + 8; i++)
        sum += a[row * 32 + i] * b[i * 16 + col];
    atomicAdd(&c[row * 16 + col], sum);
}
