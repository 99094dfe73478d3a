/* SPDX-License-Identifier: Apache-2.0 */
/* 03_naive_uncoalesced - GEMM whose neighbouring threads compute neighbouring rows */
// rung: grid=(M+31)/32,(N+31)/32 block=32,32

// threadIdx.x runs along the rows of C. Every load of A and store of C is strided: slow on purpose.
__global__ void sgemm_uncoalesced(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                  float *C)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x; // row
    const int y = blockIdx.y * blockDim.y + threadIdx.y; // column

    if (x < M && y < N) {
        float tmp = 0.f;
        for (int i = 0; i < K; ++i) {
            tmp += A[x * K + i] * B[i * N + y];
        }
        C[x * N + y] = alpha * tmp + beta * C[x * N + y];
    }
}
