/* SPDX-License-Identifier: Apache-2.0 */
/* swapped - wrong: public shapes, hidden shapes, no wrong accesses, no races, memory traffic, few shared memory requests */
#define TILE 64
#define BK 16
#define T 4
#define SIDE (TILE / T)
// rung: grid=(n+TILE-1)/TILE,(m+TILE-1)/TILE block=SIDE*SIDE

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[TILE][BK], b_tile[BK][TILE];
    int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    int first_row = blockIdx.y * TILE, first_col = blockIdx.x * TILE;
    float sum[T][T] = {{0}};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int i = threadIdx.x; i < TILE * BK; i += SIDE * SIDE) {
            int row = first_row + i / BK, from = k0 + i % BK, down = k0 + i / TILE, col = first_col + i % TILE;
            a_tile[i / BK][i % BK] = row < m && from < k ? a[row * k + from] : 0;
            b_tile[i / TILE][i % TILE] = down < k && col < n ? b[down * n + col] : 0;
        }
        __syncthreads();
        for (int step = 0; step < BK; step++) {
            float a_values[T], b_values[T];
            for (int i = 0; i < T; i++) {
                a_values[i] = a_tile[y + i * SIDE][step];
                b_values[i] = b_tile[step][x + i * SIDE];
            }
            for (int i = 0; i < T; i++)
                for (int j = 0; j < T; j++)
                    sum[i][j] += a_values[i] * b_values[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            if (first_row + y + i * SIDE < m && first_col + x + j * SIDE < n)
                c[(first_row + y + i * SIDE) * n + first_col + x + j * SIDE] = sum[j][i];
}
