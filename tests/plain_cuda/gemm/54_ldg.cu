/* SPDX-License-Identifier: Apache-2.0 */
/* 54_ldg - product with loads through the read-only cache */
// rung: grid=(N+63)/64,(M+3)/4 block=64
// A block computes four rows of 64 columns; each thread reuses a value of B four times.
__global__ void gemm_ldg(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, const int M,
                         const int N, const int K)
{
    const int col = blockIdx.x * 64 + threadIdx.x;
    const int row = blockIdx.y * 4;
    if (col >= N) return;
    const int rows = min(4, M - row);

    float acc[4] = {0.f, 0.f, 0.f, 0.f};
    for (int k = 0; k < K; ++k) {
        const float b = __ldg(&B[k * N + col]);
#pragma unroll
        for (int r = 0; r < 4; ++r)
            if (r < rows) acc[r] = fmaf(__ldg(&A[(row + r) * K + k]), b, acc[r]);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r)
        if (r < rows) C[(row + r) * N + col] = acc[r];
}
