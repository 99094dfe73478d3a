/* SPDX-License-Identifier: Apache-2.0 */
/* 40_mma_ldmatrix - half product with ldmatrix and mma.m16n8k16 in inline PTX */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define TILE_M 16
#define TILE_N 8
#define TILE_K 16

#define LDSM_X2(d, p)                                                                          \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"                    \
                 : "=r"((d)[0]), "=r"((d)[1]) : "r"(p))

#define LDSM_X4(d, p)                                                                          \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"            \
                 : "=r"((d)[0]), "=r"((d)[1]), "=r"((d)[2]), "=r"((d)[3]) : "r"(p))

#define MMA_F16(c, a, b)                                                                       \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "                \
                 "{%2, %3, %4, %5}, {%6, %7}, {%0, %1};"                                       \
                 : "+r"((c)[0]), "+r"((c)[1])                                                  \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))

// A is M x K by rows, B is K x N by columns, C is M x N by rows. One warp computes 16 x 8 elements.
__global__ void hgemmMmaSimple(const half *__restrict__ A, const half *__restrict__ B, half *__restrict__ C, size_t M,
                               size_t N, size_t K)
{
    __shared__ __align__(16) half tileA[TILE_M * TILE_K];
    __shared__ __align__(16) half tileB[TILE_N * TILE_K];

    const unsigned lane = threadIdx.x;
    const size_t row0 = TILE_M * (size_t)blockIdx.y;
    const size_t col0 = TILE_N * (size_t)blockIdx.x;

    // Two lanes copy one line of 16 values, 16 bytes each
    const unsigned line = lane >> 1, part = (lane & 1) * 8;
    const unsigned addressA = __cvta_generic_to_shared(tileA + (lane & 15) * TILE_K + (lane >> 4) * 8);
    const unsigned addressB = __cvta_generic_to_shared(tileB + (lane & 7) * TILE_K + ((lane >> 3) & 1) * 8);

    uint32_t sum[2] = {0u, 0u};
    for (size_t k = 0; k < K; k += TILE_K) {
        *reinterpret_cast<uint4 *>(tileA + line * TILE_K + part) =
            *reinterpret_cast<const uint4 *>(A + (row0 + line) * K + k + part);
        if (line < TILE_N)
            *reinterpret_cast<uint4 *>(tileB + line * TILE_K + part) =
                *reinterpret_cast<const uint4 *>(B + (col0 + line) * K + k + part);
        __syncthreads();

        uint32_t a[4], b[2];
        LDSM_X4(a, addressA);
        LDSM_X2(b, addressB);
        MMA_F16(sum, a, b);
        __syncthreads();
    }

    half *out = C + (row0 + lane / 4) * N + col0 + 2 * (lane % 4);
    *reinterpret_cast<uint32_t *>(out) = sum[0];
    *reinterpret_cast<uint32_t *>(out + 8 * N) = sum[1];
}

void hgemm(half *A, half *B, half *C, size_t M, size_t N, size_t K)
{
    dim3 blocks((N + TILE_N - 1) / TILE_N, (M + TILE_M - 1) / TILE_M);
    hgemmMmaSimple<<<blocks, 32>>>(A, B, C, M, N, K);
}

int main()
{
    const size_t M = 64, N = 48, K = 96;
    half *A, *B, *C;
    cudaMallocManaged(&A, M * K * sizeof(half));
    cudaMallocManaged(&B, K * N * sizeof(half));
    cudaMallocManaged(&C, M * N * sizeof(half));
    for (size_t i = 0; i < M * K; i++) A[i] = __float2half((float)(rand() % 5 - 2));
    for (size_t i = 0; i < K * N; i++) B[i] = __float2half((float)(rand() % 5 - 2));
    hgemm(A, B, C, M, N, K);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            float s = 0;
            for (size_t k = 0; k < K; k++) s += __half2float(A[i * K + k]) * __half2float(B[j * K + k]);
            if (s != __half2float(C[i * N + j])) {
                printf("mismatch at %zu %zu\n", i, j);
                return 1;
            }
        }
    printf("ok\n");
    return 0;
}
