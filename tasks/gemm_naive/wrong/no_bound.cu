/* SPDX-License-Identifier: Apache-2.0 */
/* no_bound - wrong: public shapes, hidden shapes, no wrong accesses; found: out-of-bounds, race */
// rung: grid=(n+31)/32,(m+7)/8 block=32,8

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
