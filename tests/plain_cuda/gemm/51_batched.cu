/* SPDX-License-Identifier: Apache-2.0 */
/* 51_batched - batch of products, one matrix per blockIdx.z */
// Batched matmul as in attention: (batch, m, k) x (batch, k, n) -> (batch, m, n), all contiguous.
// rung: grid=(n+15)/16,(m+15)/16,batch block=16,16
__global__ void bmm_kernel(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out, int batch,
                           int m, int n, int k)
{
    const int z = blockIdx.z;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (z >= batch || row >= m || col >= n) return;

    a += (size_t)z * m * k;
    b += (size_t)z * k * n;
    out += (size_t)z * m * n;

    float acc = 0.f;
    for (int i = 0; i < k; ++i) acc += a[row * k + i] * b[i * n + col];
    out[row * n + col] = acc;
}
