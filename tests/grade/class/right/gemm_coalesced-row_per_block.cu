/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_coalesced-row_per_block - One block per row of C. */
// rung: grid=m block=64

__device__ float dot(const float *x, const float *y, int stride, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i] * y[i * stride];
    return sum;
}

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int row = blockIdx.x;
    for (int col = threadIdx.x; col < n; col += blockDim.x)
        c[row * n + col] = dot(a + row * k, b + col, n, k);
}
