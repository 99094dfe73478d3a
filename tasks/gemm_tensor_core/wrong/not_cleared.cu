/* SPDX-License-Identifier: Apache-2.0 */
/* not_cleared - wrong: public shapes, hidden shapes, no wrong accesses, no races, tensor cores; found: uninitialized */
#include <cuda_fp16.h>
#include <mma.h>
// rung: grid=n/32,m/32 block=128

__global__ void gemm(const __half *a, const __half *b, float *c, int m, int n, int k)
{
    using namespace nvcuda;
    int warp = threadIdx.x / 32; // four warps compute 2 x 2 tiles of 16 x 16 elements
    int row = blockIdx.y * 32 + warp / 2 * 16, col = blockIdx.x * 32 + warp % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a_part;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b_part;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    for (int k0 = 0; k0 < k; k0 += 16) {
        wmma::load_matrix_sync(a_part, a + row * k + k0, k);
        wmma::load_matrix_sync(b_part, b + k0 * n + col, n);
        wmma::mma_sync(sum, a_part, b_part, sum);
    }
    wmma::store_matrix_sync(c + row * n + col, sum, n, wmma::mem_row_major);
}
