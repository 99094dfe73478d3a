/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialized_global_gemm.cu - beta times a C that is new */
// rung: grid=n/16,m/16 block=16,16 a=f32[m*k] b=f32[k*n] c=f32[m*n]:none m=32 n=16 k=8 alpha=1.0 beta=0.0
__global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k, float alpha, float beta)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = alpha * sum + beta * c[row * n + col]; // BUG uninitialized
}
