/* SPDX-License-Identifier: Apache-2.0 */
/* early_return - wrong: public shapes, hidden shapes, no wrong accesses, no races, barriers reached by all, memory traffic; found: barrier */
#define TILE 32
// rung: grid=(n+TILE-1)/TILE,(m+TILE-1)/TILE block=TILE,TILE

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    if (row >= m || col >= n)
        return;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        a_tile[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0;
        b_tile[y][x] = k0 + y < k && col < n ? b[(k0 + y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += a_tile[y][i] * b_tile[i][x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
