/* SPDX-License-Identifier: Apache-2.0 */
/* rows_by_x - wrong: coalesced accesses */
// rung: grid=(m+31)/32,(n+7)/8 block=32,8

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    int col = blockIdx.y * 8 + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
