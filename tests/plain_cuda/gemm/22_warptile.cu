/* SPDX-License-Identifier: Apache-2.0 */
/* 22_warptile - GEMM with warp tiles and nine template parameters */
#include <cassert>
#include <cuda_runtime.h>

#define CEIL_DIV(x, y) (((x) + (y)-1) / (y))

const int WARPSIZE = 32;

namespace wt {
template <const int BM, const int BN, const int BK, const int NUM_THREADS>
__device__ void loadFromGmem(int N, int K, const float *A, const float *B, float *As, float *Bs)
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

template <const int BM, const int BN, const int BK, const int WM, const int WN, const int WMITER, const int WNITER,
          const int WSUBM, const int WSUBN, const int TM, const int TN>
__device__ void processFromSmem(float *regM, float *regN, float *threadResults, const float *As, const float *Bs,
                                const uint warpRow, const uint warpCol, const uint rowInWarp, const uint colInWarp)
{
    for (uint dot = 0; dot < BK; ++dot) {
        for (uint wm = 0; wm < WMITER; ++wm)
            for (uint i = 0; i < TM; ++i)
                regM[wm * TM + i] = As[dot * BM + warpRow * WM + wm * WSUBM + rowInWarp * TM + i];
        for (uint wn = 0; wn < WNITER; ++wn)
            for (uint i = 0; i < TN; ++i)
                regN[wn * TN + i] = Bs[dot * BN + warpCol * WN + wn * WSUBN + colInWarp * TN + i];
        for (uint m = 0; m < WMITER * TM; ++m)
            for (uint n = 0; n < WNITER * TN; ++n)
                threadResults[m * WNITER * TN + n] += regM[m] * regN[n];
    }
}
} // namespace wt

/*
 * BM, BN, BK: tile of the block; WM, WN: tile of a warp; WNITER: steps of a warp over its columns;
 * TM, TN: results of a thread per step.
 */
template <const int BM, const int BN, const int BK, const int WM, const int WN, const int WNITER, const int TM,
          const int TN, const int NUM_THREADS>
__global__ void __launch_bounds__(NUM_THREADS)
    sgemmWarptiling(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    const uint cRow = blockIdx.y;
    const uint cCol = blockIdx.x;

    const uint warp = threadIdx.x / WARPSIZE;
    const uint warpCol = warp % (BN / WN);
    const uint warpRow = warp / (BN / WN);

    constexpr uint WMITER = (WM * WN) / (WARPSIZE * TM * TN * WNITER);
    constexpr uint WSUBM = WM / WMITER;
    constexpr uint WSUBN = WN / WNITER;

    const uint lane = threadIdx.x % WARPSIZE;
    const uint colInWarp = lane % (WSUBN / TN);
    const uint rowInWarp = lane / (WSUBN / TN);

    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];

    A += cRow * BM * K;
    B += cCol * BN;
    C += (cRow * BM + warpRow * WM) * N + cCol * BN + warpCol * WN;

    float threadResults[WMITER * TM * WNITER * TN] = {0.0};
    float regM[WMITER * TM] = {0.0};
    float regN[WNITER * TN] = {0.0};

    for (uint bk = 0; bk < K; bk += BK) {
        wt::loadFromGmem<BM, BN, BK, NUM_THREADS>(N, K, A, B, As, Bs);
        __syncthreads();
        wt::processFromSmem<BM, BN, BK, WM, WN, WMITER, WNITER, WSUBM, WSUBN, TM, TN>(
            regM, regN, threadResults, As, Bs, warpRow, warpCol, rowInWarp, colInWarp);
        A += BK;
        B += BK * N;
        __syncthreads();
    }

    for (uint wm = 0; wm < WMITER; ++wm) {
        for (uint wn = 0; wn < WNITER; ++wn) {
            float *C_sub = C + (wm * WSUBM) * N + wn * WSUBN;
            for (uint m = 0; m < TM; m += 1) {
                for (uint n = 0; n < TN; n += 4) {
                    float4 *p = reinterpret_cast<float4 *>(&C_sub[(rowInWarp * TM + m) * N + colInWarp * TN + n]);
                    float4 t = *p;
                    const int i = (wm * TM + m) * (WNITER * TN) + wn * TN + n;
                    t.x = alpha * threadResults[i + 0] + beta * t.x;
                    t.y = alpha * threadResults[i + 1] + beta * t.y;
                    t.z = alpha * threadResults[i + 2] + beta * t.z;
                    t.w = alpha * threadResults[i + 3] + beta * t.w;
                    *p = t;
                }
            }
        }
    }
}

void runSgemmWarptiling(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C)
{
    const uint NUM_THREADS = 128;
    const uint BN = 128;
    const uint BM = 64;
    const uint BK = 16;
    const uint WN = 64;
    const uint WM = 32;
    const uint WNITER = 2;
    const uint TN = 4;
    const uint TM = 4;
    dim3 blockDim(NUM_THREADS);

    constexpr uint NUM_WARPS = NUM_THREADS / 32;
    static_assert((BN % WN == 0) and (BM % WM == 0));
    static_assert((BN / WN) * (BM / WM) == NUM_WARPS);
    static_assert((WM * WN) % (WARPSIZE * TM * TN * WNITER) == 0);

    dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
    sgemmWarptiling<BM, BN, BK, WM, WN, WNITER, TM, TN, NUM_THREADS>
        <<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
