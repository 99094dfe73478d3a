/* SPDX-License-Identifier: Apache-2.0 */
/* 39_wmma_colmajor - column-major tensor-core GEMM with scalars */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

#define T 16

// Column-major without gaps: the leading dimensions are M, K and M. Sizes are multiples of 16.
__global__ void wmma_gemm_cols(half *a, half *b, float *c, int M, int N, int K, float alpha, float beta)
{
    // blockDim.x counts lanes: every 32 threads in x are one warp
    const int i0 = T * ((blockIdx.x * blockDim.x + threadIdx.x) / warpSize);
    const int j0 = T * (blockIdx.y * blockDim.y + threadIdx.y);
    if (i0 >= M || j0 >= N) return;

    wmma::fragment<wmma::accumulator, T, T, T, float> product, result;
    wmma::fill_fragment(product, 0.0f);

    const half *left = a + i0;
    const half *right = b + (size_t)j0 * K;
    for (int k = 0; k < K; k += T) {
        wmma::fragment<wmma::matrix_a, T, T, T, half, wmma::col_major> fa;
        wmma::fragment<wmma::matrix_b, T, T, T, half, wmma::col_major> fb;
        wmma::load_matrix_sync(fa, left, M);
        wmma::load_matrix_sync(fb, right, K);
        wmma::mma_sync(product, fa, fb, product);
        left += (size_t)T * M;
        right += T;
    }

    float *tile = c + (size_t)j0 * M + i0;
    wmma::load_matrix_sync(result, tile, M, wmma::mem_col_major);
#pragma unroll
    for (int e = 0; e < result.num_elements; ++e)
        result.x[e] = beta * result.x[e] + alpha * product.x[e];
    wmma::store_matrix_sync(tile, result, M, wmma::mem_col_major);
}

void launch_wmma_gemm_cols(half *a, half *b, float *c, int m, int n, int k, float alpha, float beta)
{
    dim3 block, grid;

    // 4 x 4 warps: a block computes 64 x 64 elements
    block.x = 4 * 32;
    block.y = 4;
    grid.x = (m + 4 * T - 1) / (4 * T);
    grid.y = (n + 4 * T - 1) / (4 * T);

    wmma_gemm_cols<<<grid, block>>>(a, b, c, m, n, k, alpha, beta);
}
