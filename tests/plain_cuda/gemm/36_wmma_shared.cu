/* SPDX-License-Identifier: Apache-2.0 */
/* 36_wmma_shared - tensor-core product with tiles in shared memory and half results */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#define LDST128(p) (*reinterpret_cast<float4 *>(&(p)))
#define LD128(p) (*reinterpret_cast<const float4 *>(&(p)))

// Block tile BM x BN with 2 x 2 warps; each warp computes 2 x 2 fragments.
template <int BM = 64, int BN = 64, int BK = 32, int PAD = 8>
__global__ void hgemm_wmma_kernel(const half *__restrict__ A, const half *__restrict__ B, half *__restrict__ C,
                                  const int M, const int N, const int K)
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) half s_a[BM][BK + PAD];
    __shared__ __align__(32) half s_b[BK][BN + PAD];

    const int tid = threadIdx.x;
    const int warp_m = (tid / 32) / 2;
    const int warp_n = (tid / 32) % 2;

    fragment<accumulator, 16, 16, 16, half> acc[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) fill_fragment(acc[i][j], __float2half(0.0f));

    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int v = tid; v < BM * BK / 8; v += 128) {
            const int r = v / (BK / 8), c = v % (BK / 8) * 8;
            LDST128(s_a[r][c]) = LD128(A[(blockIdx.y * BM + r) * K + k0 + c]);
        }
        for (int v = tid; v < BK * BN / 8; v += 128) {
            const int r = v / (BN / 8), c = v % (BN / 8) * 8;
            LDST128(s_b[r][c]) = LD128(B[(k0 + r) * N + blockIdx.x * BN + c]);
        }
        __syncthreads();

#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            fragment<matrix_a, 16, 16, 16, half, row_major> fa[2];
            fragment<matrix_b, 16, 16, 16, half, row_major> fb[2];
            for (int i = 0; i < 2; i++) load_matrix_sync(fa[i], &s_a[warp_m * 32 + i * 16][kk], BK + PAD);
            for (int j = 0; j < 2; j++) load_matrix_sync(fb[j], &s_b[kk][warp_n * 32 + j * 16], BN + PAD);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            store_matrix_sync(&C[(blockIdx.y * BM + warp_m * 32 + i * 16) * N + blockIdx.x * BN + warp_n * 32 + j * 16],
                              acc[i][j], N, mem_row_major);
}

int main()
{
    constexpr int BM = 64, BN = 64;
    const int M = 512, N = 1024, K = 256;
    std::vector<half> a(M * K), b(K * N), c(M * N);
    for (auto &x : a) x = __float2half(float(std::rand() % 3 - 1));
    for (auto &x : b) x = __float2half(float(std::rand() % 3 - 1));

    half *da, *db, *dc;
    cudaMalloc(&da, a.size() * sizeof(half));
    cudaMalloc(&db, b.size() * sizeof(half));
    cudaMalloc(&dc, c.size() * sizeof(half));
    cudaMemcpy(da, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice);

    dim3 block(128);
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    hgemm_wmma_kernel<BM, BN><<<grid, block>>>(da, db, dc, M, N, K);
    cudaMemcpy(c.data(), dc, c.size() * sizeof(half), cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int t = 0; t < 2000; t++) {
        int i = std::rand() % M, j = std::rand() % N;
        float s = 0;
        for (int k = 0; k < K; k++) s += __half2float(a[i * K + k]) * __half2float(b[k * N + j]);
        wrong += s != __half2float(c[i * N + j]);
    }
    std::printf("%d wrong of 2000 samples\n", wrong);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    return wrong != 0;
}
