/* SPDX-License-Identifier: Apache-2.0 */
/* uncoalesced_load.cu - adjacent threads compute adjacent rows, so that a warp reads 32 rows of A at once. */
__global__ void uncoalesced_load(int M, int N, int K, const float *A, const float *B, float *C)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

void run(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(32, 8), grid((M + 31) / 32, (N + 7) / 8);
    uncoalesced_load<<<grid, block>>>(M, N, K, A, B, C);
}
