/* SPDX-License-Identifier: Apache-2.0 */
/* 06_grid_stride_2d - matrix product with grid-stride loops over rows and columns */
#include <cstddef>

// rung: grid=(n+15)/16,(m+7)/8 block=16,8
// Any grid works: the loops cover what the grid does not.
__global__ void matmul_stride_2d(const float *lhs, const float *rhs, float *out, size_t m, size_t n, size_t k)
{
    for (size_t r = blockIdx.y * blockDim.y + threadIdx.y; r < m; r += size_t(gridDim.y) * blockDim.y) {
        for (size_t c = blockIdx.x * blockDim.x + threadIdx.x; c < n; c += size_t(gridDim.x) * blockDim.x) {
            float total = 0.0f;
            for (size_t i = 0; i < k; ++i)
                total += lhs[r * k + i] * rhs[i * n + c];
            out[r * n + c] = total;
        }
    }
}
