/* SPDX-License-Identifier: Apache-2.0 */
/* 46_sgemm_cp_async - float GEMM with asynchronous copies by inline PTX */
#include <cuda_runtime.h>

__device__ __forceinline__ void cp_async_16(float *smem, const float *gmem)
{
    unsigned dst = (unsigned)__cvta_generic_to_shared(smem);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n" ::"r"(dst), "l"(gmem) : "memory");
}

__device__ __forceinline__ void cp_async_fence() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

template <int N> __device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory"); }

// rung: kernel=sgemm_async template=64,64,16 grid=N/BN,M/BM block=256
template <int BM, int BN, int BK>
__global__ void sgemm_async(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    __shared__ __align__(16) float As[2][BM][BK];
    __shared__ __align__(16) float Bs[2][BK][BN];

    const int tid = threadIdx.x;
    const int tx = tid % 16, ty = tid / 16;
    const int arow = tid / (BK / 4), acol = (tid % (BK / 4)) * 4;
    const int brow = tid / (BN / 4), bcol = (tid % (BN / 4)) * 4;
    static_assert(BM * BK == 4 * 256 && BK * BN == 4 * 256, "one 16-byte copy per thread and tile");
    static_assert(BM == 64 && BN == 64, "4 x 4 results per thread");

    const float *a = A + (blockIdx.y * BM + arow) * K + acol;
    const float *b = B + brow * N + blockIdx.x * BN + bcol;

    cp_async_16(&As[0][arow][acol], a);
    cp_async_16(&Bs[0][brow][bcol], b);
    cp_async_fence();

    float sum[4][4] = {};
    int buf = 0;
    for (int k = 0; k < K; k += BK, buf ^= 1) {
        if (k + BK < K) {
            cp_async_16(&As[buf ^ 1][arow][acol], a + k + BK);
            cp_async_16(&Bs[buf ^ 1][brow][bcol], b + (k + BK) * N);
        }
        cp_async_fence(); // may be an empty group
        cp_async_wait<1>();
        __syncthreads();
#pragma unroll
        for (int p = 0; p < BK; ++p)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += As[buf][ty * 4 + i][p] * Bs[buf][p][tx + 16 * j];
        __syncthreads();
    }

    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            float *c = C + (blockIdx.y * BM + ty * 4 + i) * N + blockIdx.x * BN + tx + 16 * j;
            *c = alpha * sum[i][j] + beta * *c;
        }
}
