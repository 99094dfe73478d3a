/* SPDX-License-Identifier: Apache-2.0 */
/* naive.cu - adjacent threads compute adjacent rows of C, so that no load of A is coalesced. */
__global__ void sgemm_naive(int M, int N, int K, const float *A, const float *B, float *C)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

void launch(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(32, 8);
    dim3 grid((M + 31) / 32, (N + 7) / 8);
    sgemm_naive<<<grid, block>>>(M, N, K, A, B, C);
}
