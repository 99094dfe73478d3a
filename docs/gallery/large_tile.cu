/* SPDX-License-Identifier: Apache-2.0 */
/* large_tile.cu - tiles that are five times as deep take 46 KiB of shared memory, so that few blocks fit a multiprocessor. */
#define TILE 64
#define DEPTH 80

__global__ void large_tile(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float a_tile[DEPTH][TILE + 2], b_tile[DEPTH][TILE + 16];
    int tx = threadIdx.x, ty = threadIdx.y, row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[4][4] = {{0}};
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        for (int i = ty; i < TILE; i += 16)
            for (int k = tx; k < DEPTH; k += 16)
                a_tile[k][i] = row0 + i < M && k0 + k < K ? A[(row0 + i) * K + k0 + k] : 0;
        for (int j = tx; j < TILE; j += 16)
            for (int k = ty; k < DEPTH; k += 16)
                b_tile[k][j] = k0 + k < K && col0 + j < N ? B[(k0 + k) * N + col0 + j] : 0;
        __syncthreads();
        for (int k = 0; k < DEPTH; k++) {
            float a[4], b[4];
            for (int i = 0; i < 4; i++)
                a[i] = a_tile[k][ty + 16 * i];
            for (int j = 0; j < 4; j++)
                b[j] = b_tile[k][tx + 16 * j];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
            if (row < M && col < N)
                C[row * N + col] = sum[i][j];
        }
}

void run(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(16, 16), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    large_tile<<<grid, block>>>(M, N, K, A, B, C);
}
