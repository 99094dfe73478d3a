/* SPDX-License-Identifier: Apache-2.0 */
/* sum_in_memory.cu - the sum is an element of C, which is stored in every step of k. */
__global__ void sum_in_memory(int M, int N, int K, const float *A, const float *B, float *C)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        C[row * N + col] = 0;
        for (int k = 0; k < K; k++)
            C[row * N + col] += A[row * K + k] * B[k * N + col];
    }
}

void run(int M, int N, int K, const float *A, const float *B, float *C)
{
    dim3 block(32, 8), grid((N + 31) / 32, (M + 7) / 8);
    sum_in_memory<<<grid, block>>>(M, N, K, A, B, C);
}
