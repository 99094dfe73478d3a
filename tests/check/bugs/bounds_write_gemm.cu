/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_write_gemm.cu - the column is not checked */
// rung: grid=(n+15)/16,(m+15)/16 block=16,16 a=f32[m*k] b=f32[k*n] c=f32[m*n]:none m=30 n=20 k=8
__global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        if (row < m && col < n)
            sum += a[row * k + i] * b[i * n + col];
    if (row < m)
        c[row * n + col] = sum; // BUG out-of-bounds
}
