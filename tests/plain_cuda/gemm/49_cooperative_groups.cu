/* SPDX-License-Identifier: Apache-2.0 */
/* 49_cooperative_groups - tiled product with cooperative groups */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// Eight lanes compute one element of C: each takes every eighth value of k, then the lanes add up.
__global__ void gemm_groups(const float *A, const float *B, float *C, int M, int N, int K)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> lanes = cg::tiled_partition<8>(block);

    __shared__ float rows[4][128]; // parts of four rows of A

    const int row0 = blockIdx.y * 4;
    const int r = lanes.meta_group_rank() / 8;
    const int col = blockIdx.x * 8 + lanes.meta_group_rank() % 8;

    float part = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 128) {
        const int count = min(128, K - k0);
        for (int e = block.thread_rank(); e < 4 * 128; e += block.size()) {
            const int i = e / 128, k = e % 128;
            rows[i][k] = row0 + i < M && k < count ? A[(row0 + i) * K + k0 + k] : 0.0f;
        }
        block.sync();
        if (col < N)
            for (int k = lanes.thread_rank(); k < count; k += lanes.size())
                part += rows[r][k] * B[(k0 + k) * N + col];
        block.sync();
    }

    const float sum = cg::reduce(lanes, part, cg::plus<float>());
    if (lanes.thread_rank() == 0 && row0 + r < M && col < N)
        C[(row0 + r) * N + col] = sum;
}

int main()
{
    const int M = 30, N = 50, K = 333;
    std::vector<float> a(M * K), b(K * N), c(M * N);
    for (auto &v : a) v = rand() % 7 - 3;
    for (auto &v : b) v = rand() % 7 - 3;
    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, a.size() * sizeof(float));
    cudaMalloc(&d_b, b.size() * sizeof(float));
    cudaMalloc(&d_c, c.size() * sizeof(float));
    cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);

    dim3 grid((N + 7) / 8, (M + 3) / 4);
    gemm_groups<<<grid, 256>>>(d_a, d_b, d_c, M, N, K);
    cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);

    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += a[i * K + k] * b[k * N + j];
            bad += s != c[i * N + j];
        }
    printf("%s\n", bad ? "FAILED" : "passed");
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    return bad ? 1 : 0;
}
