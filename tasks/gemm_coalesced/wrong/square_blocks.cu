/* SPDX-License-Identifier: Apache-2.0 */
/* square_blocks - wrong: coalesced accesses */
// rung: grid=(n+3)/4,(m+63)/64 block=4,64

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    int col = blockIdx.x * 4 + threadIdx.x;
    int row = blockIdx.y * 64 + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
