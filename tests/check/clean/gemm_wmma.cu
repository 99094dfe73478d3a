/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_wmma.cu - fragments from global memory */
// rung: grid=2,2 block=32 a=f16[32*k] b=f16[k*32] c=f32[32*32]:none k=32
#include <mma.h>
using namespace nvcuda;
__global__ void hgemm(const half *a, const half *b, float *c, int k)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int t = 0; t < k; t += 16) {
        wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * k + t, k);
        wmma::load_matrix_sync(fb, b + t * 32 + blockIdx.x * 16, 32);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * 32 + blockIdx.x * 16, sum, 32, wmma::mem_row_major);
}
