/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_stride_gemm.cu - the leading dimension of A is used for B */
// rung: grid=n/16,m/16 block=16,16 a=f32[m*k] b=f32[k*n] c=f32[m*n]:none m=32 n=32 k=64
__global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * k + col]; // BUG out-of-bounds
    c[row * n + col] = sum;
}
