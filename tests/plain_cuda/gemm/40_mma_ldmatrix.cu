/* SPDX-License-Identifier: Apache-2.0 */
/* 40_mma_ldmatrix - half product with ldmatrix and mma.m16n8k16 in inline PTX */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define MMA_M 16
#define MMA_N 8
#define MMA_K 16
#define WARP_SIZE 32

#define LDMATRIX_X2(R0, R1, addr) \
    asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];\n" : "=r"(R0), "=r"(R1) : "r"(addr))

#define LDMATRIX_X4(R0, R1, R2, R3, addr)                                             \
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n" \
                 : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3)                             \
                 : "r"(addr))

#define HMMA16816(RD0, RD1, RA0, RA1, RA2, RA3, RB0, RB1, RC0, RC1)                                        \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "                                      \
                 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};\n"                                       \
                 : "=r"(RD0), "=r"(RD1)                                                                    \
                 : "r"(RA0), "r"(RA1), "r"(RA2), "r"(RA3), "r"(RB0), "r"(RB1), "r"(RC0), "r"(RC1))

inline __device__ __host__ size_t div_ceil(size_t a, size_t b) { return (a % b != 0) ? (a / b + 1) : (a / b); }

// A is M x K by rows, B is K x N by columns, C is M x N by rows
__global__ void mmaNaiveKernel(const half *__restrict__ A, const half *__restrict__ B, half *__restrict__ C, size_t M,
                               size_t N, size_t K)
{
    const size_t K_tiles = div_ceil(K, MMA_K);
    const size_t warp_row = blockIdx.y * MMA_M;
    const size_t warp_col = blockIdx.x * MMA_N;
    if (warp_row >= M || warp_col >= N) return;

    __shared__ __align__(16) half A_smem[MMA_M][MMA_K];
    __shared__ __align__(16) half B_smem[MMA_N][MMA_K];

    const size_t lane_id = threadIdx.x % WARP_SIZE;
    uint32_t RC[2] = {0, 0};

#pragma unroll
    for (size_t i = 0; i < K_tiles; ++i) {
        // A row of a tile is 32 bytes: two lanes copy 16 bytes each
        *((int4 *)&A_smem[lane_id / 2][(lane_id % 2) * 8]) =
            *((const int4 *)&A[(warp_row + lane_id / 2) * K + i * MMA_K + (lane_id % 2) * 8]);
        if (lane_id < MMA_N * 2) {
            *((int4 *)&B_smem[lane_id / 2][(lane_id % 2) * 8]) =
                *((const int4 *)&B[(warp_col + lane_id / 2) * K + i * MMA_K + (lane_id % 2) * 8]);
        }
        __syncthreads();

        uint32_t RA[4], RB[2];
        uint32_t A_addr = __cvta_generic_to_shared(&A_smem[lane_id % 16][(lane_id / 16) * 8]);
        LDMATRIX_X4(RA[0], RA[1], RA[2], RA[3], A_addr);
        uint32_t B_addr = __cvta_generic_to_shared(&B_smem[lane_id % 8][((lane_id / 8) % 2) * 8]);
        LDMATRIX_X2(RB[0], RB[1], B_addr);
        HMMA16816(RC[0], RC[1], RA[0], RA[1], RA[2], RA[3], RB[0], RB[1], RC[0], RC[1]);
        __syncthreads();
    }

    uint32_t *upper = (uint32_t *)&C[(warp_row + lane_id / 4) * N + warp_col + (lane_id % 4) * 2];
    uint32_t *lower = (uint32_t *)&C[(warp_row + lane_id / 4 + 8) * N + warp_col + (lane_id % 4) * 2];
    *upper = RC[0];
    *lower = RC[1];
}

void mmaNaive(half *A, half *B, half *C, size_t M, size_t N, size_t K)
{
    dim3 block(WARP_SIZE);
    dim3 grid(div_ceil(N, MMA_N), div_ceil(M, MMA_M));
    mmaNaiveKernel<<<grid, block>>>(A, B, C, M, N, K);
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
    mmaNaive(A, B, C, M, N, K);
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
