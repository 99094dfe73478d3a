/* SPDX-License-Identifier: Apache-2.0 */
/* misaligned_vectors.cu - one float of padding per row, and loads of 16 bytes from addresses that are no multiples of 16. */
#define TILE 64
#define DEPTH 16
#define PAD 1

__global__ void misaligned_vectors(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float a_tile[DEPTH][TILE + PAD], b_tile[DEPTH][TILE + PAD];
    int tx = threadIdx.x, ty = threadIdx.y, row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[4][4] = {{0}};
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        for (int i = ty; i < TILE; i += 16)
            a_tile[tx][i] = row0 + i < M && k0 + tx < K ? A[(row0 + i) * K + k0 + tx] : 0;
        for (int j = tx; j < TILE; j += 16)
            b_tile[ty][j] = k0 + ty < K && col0 + j < N ? B[(k0 + ty) * N + col0 + j] : 0;
        __syncthreads();
        for (int k = 0; k < DEPTH; k++) {
            float4 a = *(const float4 *)&a_tile[k][4 * ty];
            float4 b = *(const float4 *)&b_tile[k][4 * tx];
            const float rows[4] = {a.x, a.y, a.z, a.w}, cols[4] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += rows[i] * cols[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = row0 + 4 * ty + i, col = col0 + 4 * tx + j;
            if (row < M && col < N)
                C[row * N + col] = sum[i][j];
        }
}

void run(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(16, 16), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    misaligned_vectors<<<grid, block>>>(M, N, K, A, B, C);
}
