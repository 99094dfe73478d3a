/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_register_tiled.cu - 4 x 4 elements per thread */
// rung: grid=n/64,m/64 block=256 a=f32[m*k] b=f32[k*n] c=f32[m*n]:none m=64 n=64 k=32
#define BM 64
#define BN 64
#define BK 8
__global__ void __launch_bounds__(256) sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[BK][BM + 4], bs[BK][BN];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    float sums[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int i = t; i < BM * BK; i += 256)
            as[i % BK][i / BK] = a[(blockIdx.y * BM + i / BK) * k + k0 + i % BK];
        for (int i = t; i < BN * BK; i += 256)
            bs[i / BN][i % BN] = b[(k0 + i / BN) * n + blockIdx.x * BN + i % BN];
        __syncthreads();
#pragma unroll
        for (int p = 0; p < BK; p++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) {
                x[i] = as[p][ty * 4 + i];
                y[i] = bs[p][tx * 4 + i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(blockIdx.y * BM + ty * 4 + i) * n + blockIdx.x * BN + tx * 4 + j] = sums[i][j];
}
