/* SPDX-License-Identifier: Apache-2.0 */
/* 41_mma_cp_async - half product with asynchronous copies in two stages */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#define CP_ASYNC_CG(dst, src) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(dst), "l"(src))
#define CP_ASYNC_COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define CP_ASYNC_WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))

template <const int BM = 128, const int BN = 128, const int BK = 32, const int A_PAD = 8, const int B_PAD = 8>
__global__ void __launch_bounds__(256)
    hgemm_mma_async_kernel(const half *__restrict__ A, const half *__restrict__ B, half *__restrict__ C, int M, int N, int K)
{
    __shared__ __align__(16) half s_a[2][BM][BK + A_PAD];
    __shared__ __align__(16) half s_b[2][BK][BN + B_PAD];

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp_m = (tid >> 5) & 1; // two warps of 64 rows
    const int warp_n = tid >> 6;       // four warps of 32 columns
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;

    auto load_stage = [&](int stage, int k0) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int v = tid + i * 256;
            const int ar = v >> 2, ac = (v & 3) * 8;
            CP_ASYNC_CG((unsigned)__cvta_generic_to_shared(&s_a[stage][ar][ac]), &A[(row0 + ar) * K + k0 + ac]);
            const int br = v >> 4, bc = (v & 15) * 8;
            CP_ASYNC_CG((unsigned)__cvta_generic_to_shared(&s_b[stage][br][bc]), &B[(k0 + br) * N + col0 + bc]);
        }
        CP_ASYNC_COMMIT();
    };

    float acc[4][4][4] = {};
    const int tiles = K / BK;
    load_stage(0, 0);

    for (int t = 0; t < tiles; ++t) {
        const int cur = t & 1;
        if (t + 1 < tiles) {
            load_stage(cur ^ 1, (t + 1) * BK);
            CP_ASYNC_WAIT(1);
        } else {
            CP_ASYNC_WAIT(0);
        }
        __syncthreads();

#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            unsigned a[4][4], b[4][2];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                unsigned p = __cvta_generic_to_shared(&s_a[cur][warp_m * 64 + i * 16 + (lane & 15)][kk + (lane >> 4) * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                             : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                             : "r"(p));
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned p = __cvta_generic_to_shared(&s_b[cur][kk + (lane & 15)][warp_n * 32 + j * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\n"
                             : "=r"(b[j][0]), "=r"(b[j][1])
                             : "r"(p));
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                                 "{%8,%9}, {%0,%1,%2,%3};\n"
                                 : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                                 : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int r = row0 + warp_m * 64 + i * 16 + lane / 4;
            const int c = col0 + warp_n * 32 + j * 8 + (lane % 4) * 2;
            *reinterpret_cast<half2 *>(&C[r * N + c]) = __floats2half2_rn(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<half2 *>(&C[(r + 8) * N + c]) = __floats2half2_rn(acc[i][j][2], acc[i][j][3]);
        }
}

int main(int argc, char *argv[])
{
    int M = 256, N = 256, K = 256;
    if (argc > 1) M = N = K = std::stoi(argv[1]);
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    std::vector<half> a(M * K), b(K * N), c(M * N);
    for (auto &x : a) x = __float2half(normal(rng));
    for (auto &x : b) x = __float2half(normal(rng));
    half *da, *db, *dc;
    cudaMalloc(&da, sizeof(half) * a.size());
    cudaMalloc(&db, sizeof(half) * b.size());
    cudaMalloc(&dc, sizeof(half) * c.size());
    cudaMemcpy(da, a.data(), sizeof(half) * a.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), sizeof(half) * b.size(), cudaMemcpyHostToDevice);

    constexpr int BM = 128, BN = 128, BK = 32;
    dim3 grid(N / BN, M / BM);
    dim3 block(256);
    for (int warmup = 0; warmup < 3; warmup++)
        hgemm_mma_async_kernel<BM, BN, BK><<<grid, block>>>(da, db, dc, M, N, K);

    cudaEvent_t e0, e1;
    cudaEventCreate(&e0);
    cudaEventCreate(&e1);
    cudaEventRecord(e0);
    hgemm_mma_async_kernel<BM, BN, BK><<<grid, block>>>(da, db, dc, M, N, K);
    cudaEventRecord(e1);
    cudaEventSynchronize(e1);
    float ms = 0;
    cudaEventElapsedTime(&ms, e0, e1);
    std::cout << 2.0 * M * N * K / ms * 1e-9 << " TFLOPS" << std::endl;

    cudaMemcpy(c.data(), dc, sizeof(half) * c.size(), cudaMemcpyDeviceToHost);
    float s = 0;
    for (int k = 0; k < K; k++) s += __half2float(a[k]) * __half2float(b[k * N]);
    std::cout << "C(0,0) = " << __half2float(c[0]) << ", expected " << s << std::endl;
    return 0;
}
