/* SPDX-License-Identifier: Apache-2.0 */
/* missing_barrier.cu - a thread reads the tiles before the other threads have stored their elements. */
#define TILE 32

__global__ void missing_barrier(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        a_tile[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;
        b_tile[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0;
        for (int k = 0; k < TILE; k++)
            sum += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads(); /* nobody reads the tiles any more */
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

void run(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    missing_barrier<<<grid, block>>>(M, N, K, A, B, C);
}
