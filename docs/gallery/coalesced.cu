/* SPDX-License-Identifier: Apache-2.0 */
/* coalesced.cu - adjacent threads compute adjacent columns, so that a warp reads adjacent elements of B. Nothing is reused. */
__global__ void coalesced(int M, int N, int K, const float *A, const float *B, float *C)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

void run(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(32, 8), grid((N + 31) / 32, (M + 7) / 8);
    coalesced<<<grid, block>>>(M, N, K, A, B, C);
}
