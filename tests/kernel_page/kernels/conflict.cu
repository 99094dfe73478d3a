/* SPDX-License-Identifier: Apache-2.0 */
/* conflict.cu - the tile of B is stored transposed, so that a column of it is in one bank. */
#define TILE 32
__global__ void sgemm_conflict(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        a_tile[threadIdx.y][threadIdx.x] = row < M && k0 + threadIdx.x < K ? A[row * K + k0 + threadIdx.x] : 0.0f;
        b_tile[threadIdx.x][threadIdx.y] = col < N && k0 + threadIdx.y < K ? B[(k0 + threadIdx.y) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += a_tile[threadIdx.y][k] * b_tile[threadIdx.x][k];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

void launch(int M, int N, int K, const float *A, const float *B, float *C)
{
    sgemm_conflict<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)>>>(M, N, K, A, B, C);
}
