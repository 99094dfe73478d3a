/* SPDX-License-Identifier: Apache-2.0 */
/* 17_tn_device_helpers - product with a transposed first operand, in device functions */
#include <cuda_runtime.h>

static const int EDGE = 32;
static const int ROWS = 8; // each thread handles EDGE / ROWS elements of a column

// Copies an EDGE x EDGE tile at (row0, col0) of a row-major matrix to shared memory.
__device__ __forceinline__ void loadTile(float (&tile)[EDGE][EDGE], const float *src, int ld, int row0, int col0)
{
#pragma unroll
    for (int r = threadIdx.y; r < EDGE; r += ROWS)
        tile[r][threadIdx.x] = src[(row0 + r) * ld + col0 + threadIdx.x];
}

__device__ __forceinline__ void multiplyTile(const float (&at)[EDGE][EDGE], const float (&b)[EDGE][EDGE],
                                             float (&sum)[EDGE / ROWS])
{
    for (int p = 0; p < EDGE; ++p) {
        float bv = b[p][threadIdx.x];
#pragma unroll
        for (int i = 0; i < EDGE / ROWS; ++i)
            sum[i] += at[p][threadIdx.y + i * ROWS] * bv;
    }
}

__device__ __forceinline__ void storeTile(const float (&sum)[EDGE / ROWS], float *dst, int ld, int row0, int col0)
{
#pragma unroll
    for (int i = 0; i < EDGE / ROWS; ++i)
        dst[(row0 + threadIdx.y + i * ROWS) * ld + col0 + threadIdx.x] = sum[i];
}

// C = transpose(At) * B: At is K x M, B is K x N, C is M x N. Sizes are multiples of 32.
__global__ void matmul_tn(const float *At, const float *B, float *C, int M, int N, int K)
{
    __shared__ float sa[EDGE][EDGE];
    __shared__ float sb[EDGE][EDGE];
    const int row0 = blockIdx.y * EDGE;
    const int col0 = blockIdx.x * EDGE;

    float sum[EDGE / ROWS] = {0.0f};
    for (int k0 = 0; k0 < K; k0 += EDGE) {
        loadTile(sa, At, M, k0, row0);
        loadTile(sb, B, N, k0, col0);
        __syncthreads();
        multiplyTile(sa, sb, sum);
        __syncthreads();
    }
    storeTile(sum, C, N, row0, col0);
}

void launch_matmul_tn(const float *At, const float *B, float *C, int M, int N, int K)
{
    const dim3 block(EDGE, ROWS);
    const dim3 grid(N / EDGE, M / EDGE);
    matmul_tn<<<grid, block>>>(At, B, C, M, N, K);
}
