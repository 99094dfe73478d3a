/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_local_gemm.cu - the accumulators are not set */
// rung: grid=1 block=64 a=f32[64*k] b=f32[k*4] c=f32[64*4]:none k=16
__global__ void sgemm(const float *a, const float *b, float *c, int k)
{
    float sums[4];
    for (int i = 0; i < k; i++)
        for (int j = 0; j < 4; j++)
            sums[j] += a[threadIdx.x * k + i] * b[i * 4 + j]; // BUG uninitialized
    for (int j = 0; j < 4; j++)
        c[threadIdx.x * 4 + j] = sums[j]; // BUG uninitialized
}
