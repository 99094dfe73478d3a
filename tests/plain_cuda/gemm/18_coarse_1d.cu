/* SPDX-License-Identifier: Apache-2.0 */
/* 18_coarse_1d - GEMM with several rows of results per thread */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/time.h>
#include <cuda_runtime.h>

#define CEIL_DIV(num, den) (((num) + (den)-1) / (den))

static void cuda_check(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    printf("line %d: %s\n", line, cudaGetErrorString(status));
    exit(EXIT_FAILURE);
}
#define cudaCheck(status) cuda_check((status), __LINE__)

template <const int BM, const int BN, const int BK, const int TM>
__global__ void sgemm_1d_blocktile(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                   float *C)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];

    // Each thread computes TM results of one column of the block tile
    const int col = threadIdx.x % BN;
    const int rowGroup = threadIdx.x / BN;

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;

    // One element of each tile per thread: BM * BK == BK * BN == blockDim.x
    const int aRow = threadIdx.x / BK, aCol = threadIdx.x % BK;
    const int bRow = threadIdx.x / BN, bCol = threadIdx.x % BN;

    float results[TM] = {0.0};

    for (int bk = 0; bk < K; bk += BK) {
        As[aRow * BK + aCol] = A[aRow * K + aCol];
        Bs[bRow * BN + bCol] = B[bRow * N + bCol];
        __syncthreads();

        A += BK;
        B += BK * N;

        for (int dot = 0; dot < BK; ++dot) {
            const float b = Bs[dot * BN + col];
            for (int r = 0; r < TM; ++r)
                results[r] += As[(rowGroup * TM + r) * BK + dot] * b;
        }
        __syncthreads();
    }

    for (int r = 0; r < TM; ++r) {
        float *out = &C[(rowGroup * TM + r) * N + col];
        *out = alpha * results[r] + beta * *out;
    }
}

int main()
{
    const int size = 512;
    const int M = size, N = size, K = size;
    float alpha = 0.5f, beta = 3.0f;
    size_t bytes = sizeof(float) * size * size;

    float *A = (float *)malloc(bytes), *B = (float *)malloc(bytes), *C = (float *)malloc(bytes);
    srand((unsigned)time(NULL));
    for (int i = 0; i < size * size; i++) {
        A[i] = (rand() % 5) + 0.01f * (rand() % 5);
        B[i] = (rand() % 5) + 0.01f * (rand() % 5);
        C[i] = (rand() % 5) + 0.01f * (rand() % 5);
    }

    float *dA, *dB, *dC;
    cudaCheck(cudaMalloc((void **)&dA, bytes));
    cudaCheck(cudaMalloc((void **)&dB, bytes));
    cudaCheck(cudaMalloc((void **)&dC, bytes));
    cudaCheck(cudaMemcpy(dA, A, bytes, cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(dB, B, bytes, cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(dC, C, bytes, cudaMemcpyHostToDevice));

    const uint BM = 64, BN = 64, BK = 8, TM = 8;
    dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
    dim3 blockDim(BN * (BM / TM));

    cudaEvent_t before, after;
    cudaEventCreate(&before);
    cudaEventCreate(&after);
    cudaEventRecord(before);
    sgemm_1d_blocktile<BM, BN, BK, TM><<<gridDim, blockDim>>>(M, N, K, alpha, dA, dB, beta, dC);
    cudaEventRecord(after);
    cudaEventSynchronize(after);
    float ms;
    cudaEventElapsedTime(&ms, before, after);
    cudaCheck(cudaGetLastError());
    printf("size %d: %.3f ms, %.1f GFLOPS\n", size, ms, 2e-6 * M * N * K / ms);

    float c00 = beta * C[0];
    for (int k = 0; k < K; k++) c00 += alpha * A[k] * B[k * N];
    cudaCheck(cudaMemcpy(C, dC, bytes, cudaMemcpyDeviceToHost));
    printf("C[0] is %f, expected about %f\n", C[0], c00);
    return 0;
}
