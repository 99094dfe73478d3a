/* SPDX-License-Identifier: Apache-2.0 */
/* strided_store.cu - adjacent threads have adjacent rows of C, so that a warp stores into 32 rows at once. */
#define TILE 32

__global__ void strided_store(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float a_tile[TILE][TILE + 1], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        a_tile[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;
        b_tile[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0;
        __syncthreads(); /* the tiles are complete */
        for (int k = 0; k < TILE; k++)
            sum += a_tile[tx][k] * b_tile[k][ty];
        __syncthreads(); /* nobody reads the tiles any more */
    }
    int c_row = blockIdx.y * TILE + tx, c_col = blockIdx.x * TILE + ty;
    if (c_row < M && c_col < N)
        C[c_row * N + c_col] = sum;
}

void run(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    strided_store<<<grid, block>>>(M, N, K, A, B, C);
}
