/* SPDX-License-Identifier: Apache-2.0 */
/* batched_gemm-flat_tiles - Flat tiles with n columns, fewer threads, and a loop over the elements. */
// rung: grid=batch block=256

__global__ void batched_gemm(const float *a, const float *b, float *c, int batch, int n)
{
    __shared__ float left[32 * 32], right[32 * 32];
    const int base = blockIdx.x * n * n, count = n * n;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        left[i] = a[base + i];
        right[i] = b[base + i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const float *row = left + i / n * n, *col = right + i % n;
        float sum = 0;
        for (int step = 0; step < n; step++, row++, col += n)
            sum += *row * *col;
        c[base + i] = sum;
    }
}
