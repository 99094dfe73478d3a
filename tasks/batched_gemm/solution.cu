/* SPDX-License-Identifier: Apache-2.0 */
/* solution - Batched GEMM: many small matrix products. */
#define SIZE 32
// rung: grid=batch block=SIZE,SIZE

__global__ void batched_gemm(const float *a, const float *b, float *c, int batch, int n)
{
    __shared__ float a_tile[SIZE][SIZE], b_tile[SIZE][SIZE];
    size_t first = (size_t)blockIdx.x * n * n;
    int row = threadIdx.y, col = threadIdx.x;
    bool is_inside = row < n && col < n;
    if (is_inside) {
        a_tile[row][col] = a[first + row * n + col];
        b_tile[row][col] = b[first + row * n + col];
    }
    __syncthreads();
    if (!is_inside)
        return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a_tile[row][i] * b_tile[i][col];
    c[first + row * n + col] = sum;
}
