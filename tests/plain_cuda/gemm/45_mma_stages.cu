/* SPDX-License-Identifier: Apache-2.0 */
/* 45_mma_stages - half product with a pipeline of several asynchronous stages */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(x)                                                                  \
    do {                                                                               \
        cudaError_t err_ = (x);                                                        \
        if (err_ != cudaSuccess) {                                                     \
            fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(err_));          \
            exit(EXIT_FAILURE);                                                        \
        }                                                                              \
    } while (0)

namespace kernel {

struct Tile {
    static constexpr int M = 128, N = 64, K = 32, LD = K + 8;
    static constexpr int kStageHalves = (M + N) * LD;
};

__device__ inline uint32_t smemAddress(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ inline void copy16(void *dst, const void *src)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(smemAddress(dst)), "l"(src) : "memory");
}

__device__ inline void ldsm4(uint32_t (&r)[4], const half *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smemAddress(p))
                 : "memory");
}

__device__ inline void mma16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// C[M][N] = A[M][K] * B[N][K]^T. Four warps, each with 64 x 32 results.
template <int STAGES>
__global__ void __launch_bounds__(128) hgemm_multistage(const half *A, const half *B, float *C, int M, int N, int K)
{
    extern __shared__ __align__(128) half smem[];

    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int wm = (warp / 2) * 64, wn = (warp % 2) * 32;
    const half *gA = A + (size_t)blockIdx.y * Tile::M * K;
    const half *gB = B + (size_t)blockIdx.x * Tile::N * K;
    const int tiles = K / Tile::K;

    auto fetch = [&](int t) {
        half *sA = smem + (t % STAGES) * Tile::kStageHalves;
        half *sB = sA + Tile::M * Tile::LD;
        for (int v = tid; v < Tile::M * 4; v += 128)
            copy16(sA + (v / 4) * Tile::LD + (v % 4) * 8, gA + (size_t)(v / 4) * K + t * Tile::K + (v % 4) * 8);
        for (int v = tid; v < Tile::N * 4; v += 128)
            copy16(sB + (v / 4) * Tile::LD + (v % 4) * 8, gB + (size_t)(v / 4) * K + t * Tile::K + (v % 4) * 8);
    };

    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < tiles) fetch(s);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    float acc[4][4][4] = {};
    for (int t = 0; t < tiles; ++t) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads(); // tile t is complete, and nobody uses tile t - 1 any more
        if (t + STAGES - 1 < tiles) fetch(t + STAGES - 1);
        asm volatile("cp.async.commit_group;" ::: "memory");

        const half *sA = smem + (t % STAGES) * Tile::kStageHalves;
        const half *sB = sA + Tile::M * Tile::LD;
#pragma unroll
        for (int kk = 0; kk < Tile::K; kk += 16) {
            uint32_t a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                ldsm4(a[i], sA + (wm + i * 16 + lane % 16) * Tile::LD + kk + (lane / 16) * 8);
#pragma unroll
            for (int j = 0; j < 2; ++j) // 16 columns: matrices (n 0-7, k 0-7), (n 0-7, k 8-15), (n 8-15, k 0-7), ...
                ldsm4(b[j], sB + (wn + j * 16 + (lane / 16) * 8 + lane % 8) * Tile::LD + kk + ((lane / 8) % 2) * 8);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) mma16816(acc[i][j], a[i], b[j / 2][(j % 2) * 2], b[j / 2][(j % 2) * 2 + 1]);
        }
    }

    float *gC = C + (size_t)(blockIdx.y * Tile::M + wm) * N + blockIdx.x * Tile::N + wn;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float *p = gC + (size_t)(i * 16 + lane / 4) * N + j * 8 + (lane % 4) * 2;
            *reinterpret_cast<float2 *>(p) = make_float2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<float2 *>(p + (size_t)8 * N) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}

} // namespace kernel

template <int STAGES> void runMultistage(const half *A, const half *B, float *C, int M, int N, int K)
{
    using kernel::Tile;
    const size_t smemBytes = STAGES * Tile::kStageHalves * sizeof(half);
    CHECK_CUDA(cudaFuncSetAttribute(kernel::hgemm_multistage<STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)smemBytes));
    dim3 grid(N / Tile::N, M / Tile::M);
    kernel::hgemm_multistage<STAGES><<<grid, 128, smemBytes>>>(A, B, C, M, N, K);
    CHECK_CUDA(cudaGetLastError());
}

int main()
{
    const int M = 1024, N = 1024, K = 1024;
    std::vector<half> hA(M * K), hB(N * K);
    for (auto &x : hA) x = __float2half((rand() % 200 - 100) / 100.f);
    for (auto &x : hB) x = __float2half((rand() % 200 - 100) / 100.f);
    half *A, *B;
    float *C, *R;
    CHECK_CUDA(cudaMalloc(&A, hA.size() * sizeof(half)));
    CHECK_CUDA(cudaMalloc(&B, hB.size() * sizeof(half)));
    CHECK_CUDA(cudaMalloc(&C, M * N * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&R, M * N * sizeof(float)));
    CHECK_CUDA(cudaMemcpy(A, hA.data(), hA.size() * sizeof(half), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(B, hB.data(), hB.size() * sizeof(half), cudaMemcpyHostToDevice));

    runMultistage<4>(A, B, C, M, N, K);

    cublasHandle_t handle;
    cublasCreate(&handle);
    float one = 1.f, zero = 0.f;
    cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, N, M, K, &one, B, CUDA_R_16F, K, A, CUDA_R_16F, K, &zero, R,
                 CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    std::vector<float> c(M * N), r(M * N);
    CHECK_CUDA(cudaMemcpy(c.data(), C, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(r.data(), R, r.size() * sizeof(float), cudaMemcpyDeviceToHost));
    float worst = 0;
    for (size_t i = 0; i < c.size(); i++) {
        float d = c[i] > r[i] ? c[i] - r[i] : r[i] - c[i];
        worst = d > worst ? d : worst;
    }
    printf("largest difference %f\n", worst);
    cublasDestroy(handle);
    return worst > 0.1f;
}
