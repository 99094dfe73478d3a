/* SPDX-License-Identifier: Apache-2.0 */
/* 23_double_buffer - GEMM with two tile buffers in shared memory and prefetch */
#include <cuda_runtime.h>

#define OFFSET(row, col, ld) ((row) * (ld) + (col))

// rung: template=64,64,8,4,4 grid=(N+BN-1)/BN,(M+BM-1)/BM block=(BM/TM)*(BN/TN)
// The block has 256 threads; two elements of each tile per thread.
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
sgemm_double_buffer(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
    const int bx = blockIdx.x;
    const int by = blockIdx.y;
    const int threads = (BM / TM) * (BN / TN);

    const int tx = (threadIdx.x % (BN / TN)) * TN;
    const int ty = (threadIdx.x / (BN / TN)) * TM;

    __shared__ float As[2][BK * BM];
    __shared__ float Bs[2][BK * BN];

    const int a_count = BM * BK / threads;
    const int b_count = BK * BN / threads;
    float next_a[a_count];
    float next_b[b_count];

    A = &A[by * BM * K];
    B = &B[bx * BN];
    C = &C[by * BM * N + bx * BN];

    float accum[TM][TN] = {0.};

    // First tile
#pragma unroll
    for (int i = 0; i < a_count; i++) {
        int e = threadIdx.x + i * threads;
        As[0][OFFSET(e % BK, e / BK, BM)] = A[OFFSET(e / BK, e % BK, K)];
    }
#pragma unroll
    for (int i = 0; i < b_count; i++) {
        int e = threadIdx.x + i * threads;
        Bs[0][OFFSET(e / BN, e % BN, BN)] = B[OFFSET(e / BN, e % BN, N)];
    }
    __syncthreads();

    int write_index = 1;
    for (int k = 0; k < K; k += BK) {
        const bool more = k + BK < K;
        if (more) { // the next tile goes to registers while this one is used
#pragma unroll
            for (int i = 0; i < a_count; i++) {
                int e = threadIdx.x + i * threads;
                next_a[i] = A[OFFSET(e / BK, k + BK + e % BK, K)];
            }
#pragma unroll
            for (int i = 0; i < b_count; i++) {
                int e = threadIdx.x + i * threads;
                next_b[i] = B[OFFSET(k + BK + e / BN, e % BN, N)];
            }
        }

        const int load_index = write_index ^ 1;
#pragma unroll
        for (int bk = 0; bk < BK; bk++) {
            float a_frag[TM], b_frag[TN];
#pragma unroll
            for (int m = 0; m < TM; m++) a_frag[m] = As[load_index][OFFSET(bk, ty + m, BM)];
#pragma unroll
            for (int n = 0; n < TN; n++) b_frag[n] = Bs[load_index][OFFSET(bk, tx + n, BN)];
#pragma unroll
            for (int m = 0; m < TM; m++)
#pragma unroll
                for (int n = 0; n < TN; n++) accum[m][n] += a_frag[m] * b_frag[n];
        }

        if (more) {
#pragma unroll
            for (int i = 0; i < a_count; i++) {
                int e = threadIdx.x + i * threads;
                As[write_index][OFFSET(e % BK, e / BK, BM)] = next_a[i];
            }
#pragma unroll
            for (int i = 0; i < b_count; i++) {
                int e = threadIdx.x + i * threads;
                Bs[write_index][OFFSET(e / BN, e % BN, BN)] = next_b[i];
            }
            __syncthreads();
            write_index ^= 1;
        }
    }

#pragma unroll
    for (int m = 0; m < TM; m++)
#pragma unroll
        for (int n = 0; n < TN; n++) {
            float &out = C[OFFSET(ty + m, tx + n, N)];
            out = alpha * accum[m][n] + beta * out;
        }
}
