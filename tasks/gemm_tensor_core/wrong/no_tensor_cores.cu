/* SPDX-License-Identifier: Apache-2.0 */
/* no_tensor_cores - wrong: tensor cores */
#include <cuda_fp16.h>
// rung: grid=n/32,m/8 block=32,8

__global__ void gemm(const __half *a, const __half *b, float *c, int m, int n, int k)
{
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
    c[row * n + col] = sum;
}
