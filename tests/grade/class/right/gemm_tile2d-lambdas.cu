/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tile2d-lambdas - Lambdas for the loads and the store, and a two-dimensional block. */
constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 8;
// rung: grid=(n+BN-1)/BN,(m+BM-1)/BM block=16,16

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[BM][BK], bs[BK][BN];
    const int thread = threadIdx.y * 16 + threadIdx.x, i0 = blockIdx.y * BM, j0 = blockIdx.x * BN;
    auto load_a = [&](int i, int p) { return i < m && p < k ? a[i * k + p] : 0.0f; };
    auto load_b = [&](int p, int j) { return p < k && j < n ? b[p * n + j] : 0.0f; };
    float sum[4][4] = {};
    for (int p0 = 0; p0 < k; p0 += BK) {
        for (int e = thread; e < BM * BK; e += 256)
            as[e / BK][e % BK] = load_a(i0 + e / BK, p0 + e % BK);
        for (int e = thread; e < BK * BN; e += 256)
            bs[e / BN][e % BN] = load_b(p0 + e / BN, j0 + e % BN);
        __syncthreads();
        for (int p = 0; p < BK; p++) {
            float right[4];
            for (int j = 0; j < 4; j++)
                right[j] = bs[p][threadIdx.x + 16 * j];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += as[threadIdx.y + 16 * i][p] * right[j];
        }
        __syncthreads();
    }
    auto store = [&](int i, int j, float value) {
        if (i < m && j < n)
            c[i * n + j] = value;
    };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            store(i0 + threadIdx.y + 16 * i, j0 + threadIdx.x + 16 * j, sum[i][j]);
}
