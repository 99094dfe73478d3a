/* SPDX-License-Identifier: Apache-2.0 */
/* no_tile - wrong: memory traffic */
// rung: grid=batch block=32,32

__global__ void batched_gemm(const float *a, const float *b, float *c, int batch, int n)
{
    size_t first = (size_t)blockIdx.x * n * n;
    int row = threadIdx.y, col = threadIdx.x;
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[first + row * n + i] * b[first + i * n + col];
    c[first + row * n + col] = sum;
}
