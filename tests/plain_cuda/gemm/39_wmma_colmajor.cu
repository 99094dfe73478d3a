/* SPDX-License-Identifier: Apache-2.0 */
/* 39_wmma_colmajor - column-major tensor-core GEMM with scalars */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

// All matrices are column-major and packed: lda = M, ldb = K, ldc = M. Sizes are multiples of 16.
__global__ void wmma_gemm_cols(half *a, half *b, float *c, int M, int N, int K, float alpha, float beta)
{
    int lda = M;
    int ldb = K;
    int ldc = M;

    // Position of this warp in the grid of 16 x 16 tiles
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int warpN = blockIdx.y * blockDim.y + threadIdx.y;
    int cRow = warpM * 16;
    int cCol = warpN * 16;
    if (cRow >= M || cCol >= N) return;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> a_frag;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b_frag;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc_frag, c_frag;
    wmma::fill_fragment(acc_frag, 0.0f);

    for (int i = 0; i < K; i += 16) {
        wmma::load_matrix_sync(a_frag, a + cRow + i * lda, lda);
        wmma::load_matrix_sync(b_frag, b + i + cCol * ldb, ldb);
        wmma::mma_sync(acc_frag, a_frag, b_frag, acc_frag);
    }

    wmma::load_matrix_sync(c_frag, c + cRow + cCol * ldc, ldc, wmma::mem_col_major);
    for (int i = 0; i < c_frag.num_elements; i++) {
        c_frag.x[i] = alpha * acc_frag.x[i] + beta * c_frag.x[i];
    }
    wmma::store_matrix_sync(c + cRow + cCol * ldc, c_frag, ldc, wmma::mem_col_major);
}

void launch_wmma_gemm_cols(half *a_fp16, half *b_fp16, float *c, int matrixM, int matrixN, int matrixK, float alpha,
                           float beta)
{
    dim3 gridDim;
    dim3 blockDim;

    // 4 x 4 warps: a block computes 64 x 64 elements
    blockDim.x = 128;
    blockDim.y = 4;
    gridDim.x = (matrixM + (16 * blockDim.x / 32 - 1)) / (16 * blockDim.x / 32);
    gridDim.y = (matrixN + 16 * blockDim.y - 1) / (16 * blockDim.y);

    wmma_gemm_cols<<<gridDim, blockDim>>>(a_fp16, b_fp16, c, matrixM, matrixN, matrixK, alpha, beta);
}
