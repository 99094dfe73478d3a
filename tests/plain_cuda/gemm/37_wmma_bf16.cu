/* SPDX-License-Identifier: Apache-2.0 */
/* 37_wmma_bf16 - bfloat16 tensor-core product with four warps per block */
#include <cuda_bf16.h>
#include <mma.h>

namespace wm = nvcuda::wmma;

// rung: grid=N/16,(M/16+3)/4 block=32,4
// One warp per 16 x 16 tile of C; threadIdx.y selects the warp. B is stored by columns (N x K).
__global__ void gemm_wmma_bf16(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N, int K)
{
    const int row = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    const int col = blockIdx.x * 16;
    if (row >= M) return; // the whole warp leaves

    wm::fragment<wm::accumulator, 16, 16, 16, float> acc;
    wm::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wm::fragment<wm::matrix_a, 16, 16, 16, __nv_bfloat16, wm::row_major> fa;
        wm::fragment<wm::matrix_b, 16, 16, 16, __nv_bfloat16, wm::col_major> fb;
        wm::load_matrix_sync(fa, A + row * K + k, K);
        wm::load_matrix_sync(fb, B + col * K + k, K);
        wm::mma_sync(acc, fa, fb, acc);
    }
    wm::store_matrix_sync(C + row * N + col, acc, N, wm::mem_row_major);
}
