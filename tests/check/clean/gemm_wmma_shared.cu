/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_wmma_shared.cu - tiles in shared memory, four warps, result through shared memory */
// rung: grid=1 block=128 a=f16[32*k] b=f16[k*32] c=f16[32*32]:none k=64
#include <mma.h>
using namespace nvcuda;
__global__ void hgemm(const half *a, const half *b, half *c, int k)
{
    __shared__ __align__(32) half as[32][24], bs[16][40];
    __shared__ __align__(32) float cs[4][16][16];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wy = warp / 2, wx = warp % 2;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int t = 0; t < k; t += 16) {
        for (int i = threadIdx.x; i < 512; i += 128) {
            as[i / 16][i % 16] = a[i / 16 * k + t + i % 16];
            bs[i / 32][i % 32] = b[(t + i / 32) * 32 + i % 32];
        }
        __syncthreads();
        wmma::load_matrix_sync(fa, &as[wy * 16][0], 24);
        wmma::load_matrix_sync(fb, &bs[0][wx * 16], 40);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncthreads();
    }
    wmma::store_matrix_sync(&cs[warp][0][0], sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = lane; i < 256; i += 32)
        c[(wy * 16 + i / 16) * 32 + wx * 16 + i % 16] = __float2half(cs[warp][i / 16][i % 16]);
}
