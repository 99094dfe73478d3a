/* SPDX-License-Identifier: Apache-2.0 */
/* outside_matrix.cu - the loads do not check the edge, and the last tiles reach beyond A and B. */
#define TILE 32

__global__ void outside_matrix(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        a_tile[ty][tx] = A[row * K + k0 + tx];
        b_tile[ty][tx] = B[(k0 + ty) * N + col];
        __syncthreads(); /* the tiles are complete */
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
    outside_matrix<<<grid, block>>>(M, N, K, A, B, C);
}
