/* SPDX-License-Identifier: Apache-2.0 */
/* 22_warptile - GEMM with warp tiles and nine template parameters */
#include <cassert>
#include <cuda_runtime.h>

#define CEIL_DIV(x, y) (((x) + (y)-1) / (y))

const int WARPSIZE = 32;

namespace wt {
template <const int BM, const int BN, const int BK, const int NUM_THREADS>
__device__ void stage_tiles(int N, int K, const float *A, const float *B, float *As, float *Bs)
{
    constexpr int aPerRow = BK / 4, bPerRow = BN / 4;
    for (int v = threadIdx.x; v < BM * aPerRow; v += NUM_THREADS) {
        const int row = v / aPerRow, col = (v % aPerRow) * 4;
        const float4 t = reinterpret_cast<const float4 *>(&A[row * K + col])[0];
        As[(col + 0) * BM + row] = t.x;
        As[(col + 1) * BM + row] = t.y;
        As[(col + 2) * BM + row] = t.z;
        As[(col + 3) * BM + row] = t.w;
    }
    for (int v = threadIdx.x; v < BK * bPerRow; v += NUM_THREADS) {
        const int row = v / bPerRow, col = (v % bPerRow) * 4;
        reinterpret_cast<float4 *>(&Bs[row * BN + col])[0] = reinterpret_cast<const float4 *>(&B[row * N + col])[0];
    }
}

template <const int BM, const int BN, const int BK, const int WM, const int WN, const int STEPS_M, const int STEPS_N,
          const int SUB_M, const int SUB_N, const int TM, const int TN>
__device__ void accumulate(float *aReg, float *bReg, float *sums, const float *As, const float *Bs,
                                const uint warpRow, const uint warpCol, const uint laneRow, const uint laneCol)
{
    for (uint dot = 0; dot < BK; ++dot) {
        for (uint wm = 0; wm < STEPS_M; ++wm)
            for (uint i = 0; i < TM; ++i)
                aReg[wm * TM + i] = As[dot * BM + warpRow * WM + wm * SUB_M + laneRow * TM + i];
        for (uint wn = 0; wn < STEPS_N; ++wn)
            for (uint i = 0; i < TN; ++i)
                bReg[wn * TN + i] = Bs[dot * BN + warpCol * WN + wn * SUB_N + laneCol * TN + i];
        for (uint m = 0; m < STEPS_M * TM; ++m)
            for (uint n = 0; n < STEPS_N * TN; ++n)
                sums[m * STEPS_N * TN + n] += aReg[m] * bReg[n];
    }
}
} // namespace wt

/*
 * BM, BN, BK: tile of the block; WM, WN: tile of a warp; STEPS_N: steps of a warp over its columns;
 * TM, TN: results of a thread per step.
 */
template <const int BM, const int BN, const int BK, const int WM, const int WN, const int STEPS_N, const int TM,
          const int TN, const int NUM_THREADS>
__global__ void __launch_bounds__(NUM_THREADS)
    sgemm_warptile(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    const uint blockRow = blockIdx.y;
    const uint blockCol = blockIdx.x;

    const uint warp = threadIdx.x / WARPSIZE;
    const uint warpCol = warp % (BN / WN);
    const uint warpRow = warp / (BN / WN);

    constexpr uint STEPS_M = (WM * WN) / (WARPSIZE * TM * TN * STEPS_N);
    constexpr uint SUB_M = WM / STEPS_M;
    constexpr uint SUB_N = WN / STEPS_N;

    const uint lane = threadIdx.x % WARPSIZE;
    const uint laneCol = lane % (SUB_N / TN);
    const uint laneRow = lane / (SUB_N / TN);

    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];

    A += blockRow * BM * K;
    B += blockCol * BN;
    C += (blockRow * BM + warpRow * WM) * N + blockCol * BN + warpCol * WN;

    float sums[STEPS_M * TM * STEPS_N * TN] = {0.0};
    float aReg[STEPS_M * TM] = {0.0};
    float bReg[STEPS_N * TN] = {0.0};

    for (uint bk = 0; bk < K; bk += BK) {
        wt::stage_tiles<BM, BN, BK, NUM_THREADS>(N, K, A, B, As, Bs);
        __syncthreads();
        wt::accumulate<BM, BN, BK, WM, WN, STEPS_M, STEPS_N, SUB_M, SUB_N, TM, TN>(
            aReg, bReg, sums, As, Bs, warpRow, warpCol, laneRow, laneCol);
        A += BK;
        B += BK * N;
        __syncthreads();
    }

    for (uint wm = 0; wm < STEPS_M; ++wm) {
        for (uint wn = 0; wn < STEPS_N; ++wn) {
            float *Cw = C + (wm * SUB_M) * N + wn * SUB_N;
            for (uint m = 0; m < TM; m += 1) {
                for (uint n = 0; n < TN; n += 4) {
                    float4 *p = reinterpret_cast<float4 *>(&Cw[(laneRow * TM + m) * N + laneCol * TN + n]);
                    float4 t = *p;
                    const int i = (wm * TM + m) * (STEPS_N * TN) + wn * TN + n;
                    t.x = alpha * sums[i + 0] + beta * t.x;
                    t.y = alpha * sums[i + 1] + beta * t.y;
                    t.z = alpha * sums[i + 2] + beta * t.z;
                    t.w = alpha * sums[i + 3] + beta * t.w;
                    *p = t;
                }
            }
        }
    }
}

void run_sgemm_warptile(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    const uint NUM_THREADS = 128;
    const uint BN = 128;
    const uint BM = 64;
    const uint BK = 16;
    const uint WN = 64;
    const uint WM = 32;
    const uint STEPS_N = 2;
    const uint TN = 4;
    const uint TM = 4;
    dim3 blockDim(NUM_THREADS);

    constexpr uint NUM_WARPS = NUM_THREADS / 32;
    static_assert((BN % WN == 0) and (BM % WM == 0));
    static_assert((BN / WN) * (BM / WM) == NUM_WARPS);
    static_assert((WM * WN) % (WARPSIZE * TM * TN * STEPS_N) == 0);

    dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
    sgemm_warptile<BM, BN, BK, WM, WN, STEPS_N, TM, TN, NUM_THREADS>
        <<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
