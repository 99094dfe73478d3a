/* SPDX-License-Identifier: Apache-2.0 */
/* uncoalesced - wrong: coalesced accesses */
#define TILE 32
// rung: grid=(n+TILE-1)/TILE,(m+TILE-1)/TILE block=TILE,TILE

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, first_col = blockIdx.x * TILE, col = first_col + x;
    float sum = 0;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        a_tile[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0;
        b_tile[x][y] = first_col + x < n && k0 + y < k ? b[(first_col + x) * k + k0 + y] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += a_tile[y][i] * b_tile[x][i];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
