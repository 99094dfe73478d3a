/* SPDX-License-Identifier: Apache-2.0 */
/* solution - GEMM 5: several elements per thread. */
#define TILE 32
#define TM 4
#define ROWS (TILE / TM)
// rung: grid=(n+TILE-1)/TILE,(m+TILE-1)/TILE block=TILE,ROWS

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum[TM] = {0};
    for (int k0 = 0; k0 < k; k0 += TILE) {
        for (int i = 0; i < TM; i++) {
            int down = i * ROWS;
            a_tile[y + down][x] = row + down < m && k0 + x < k ? a[(row + down) * k + k0 + x] : 0;
            b_tile[y + down][x] = k0 + y + down < k && col < n ? b[(k0 + y + down) * n + col] : 0;
        }
        __syncthreads();
        for (int step = 0; step < TILE; step++) {
            float b_value = b_tile[step][x];
            for (int i = 0; i < TM; i++)
                sum[i] += a_tile[y + i * ROWS][step] * b_value;
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        if (row + i * ROWS < m && col < n)
            c[(row + i * ROWS) * n + col] = sum[i];
}
