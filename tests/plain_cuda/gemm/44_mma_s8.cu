/* SPDX-License-Identifier: Apache-2.0 */
/* 44_mma_s8 - 8-bit integer product with mma.m16n8k32 in inline PTX */
#include <cstdint>
#include <cuda_runtime.h>

// C (int32, M x N) = A (int8, M x K) * B (int8, N x K) transposed.
// Each warp computes 16 x 32 elements and loads its fragments from global memory.
// M is a multiple of 64, N and K are multiples of 32.
__global__ void imma_kernel(const int8_t *__restrict__ A, const int8_t *__restrict__ B, int32_t *__restrict__ C, int M,
                            int N, int K)
{
    const int lane = threadIdx.x;
    const int r = (blockIdx.y * blockDim.y + threadIdx.y) * 16 + (lane >> 2);
    const int n0 = blockIdx.x * 32;
    const int k4 = (lane & 3) * 4;

    int32_t acc[4][4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
        acc[j][0] = acc[j][1] = acc[j][2] = acc[j][3] = 0;

    for (int k = 0; k < K; k += 32) {
        const int8_t *pa = A + (size_t)r * K + k + k4;
        uint32_t a0 = *(const uint32_t *)(pa);
        uint32_t a1 = *(const uint32_t *)(pa + (size_t)8 * K);
        uint32_t a2 = *(const uint32_t *)(pa + 16);
        uint32_t a3 = *(const uint32_t *)(pa + (size_t)8 * K + 16);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int8_t *pb = B + (size_t)(n0 + j * 8 + (lane >> 2)) * K + k + k4;
            uint32_t b0 = *(const uint32_t *)(pb);
            uint32_t b1 = *(const uint32_t *)(pb + 16);
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                         "{%8, %9}, {%0, %1, %2, %3};\n"
                         : "+r"(acc[j][0]), "+r"(acc[j][1]), "+r"(acc[j][2]), "+r"(acc[j][3])
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        }
    }

#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int c = n0 + j * 8 + (lane & 3) * 2;
        *(int2 *)&C[(size_t)r * N + c] = make_int2(acc[j][0], acc[j][1]);
        *(int2 *)&C[(size_t)(r + 8) * N + c] = make_int2(acc[j][2], acc[j][3]);
    }
}

void launch_imma(const int8_t *A, const int8_t *B, int32_t *C, int M, int N, int K, cudaStream_t s = 0)
{
    dim3 threads(32, 4);
    dim3 blocks(N / 32, M / (16 * threads.y));
    imma_kernel<<<blocks, threads, 0, s>>>(A, B, C, M, N, K);
}
