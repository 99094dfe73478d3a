/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tile1d-adjacent_rows - Each thread computes adjacent rows; loads and products use different indices. */
// rung: grid=(n+31)/32,(m+31)/32 block=256

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[32 * 32];
    __shared__ float b_tile[32 * 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = blockIdx.y * 32, left = blockIdx.x * 32;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int p = 0; p < k; p += 32) {
        for (int y = warp; y < 32; y += 8) {
            a_tile[y * 32 + lane] = top + y < m && p + lane < k ? a[(top + y) * k + p + lane] : 0;
            b_tile[y * 32 + lane] = p + y < k && left + lane < n ? b[(p + y) * n + left + lane] : 0;
        }
        __syncthreads();
        const float *rows = a_tile + warp * 4 * 32;
#pragma unroll
        for (int q = 0; q < 32; q++) {
            const float value = b_tile[q * 32 + lane];
            s0 += rows[q] * value;
            s1 += rows[32 + q] * value;
            s2 += rows[64 + q] * value;
            s3 += rows[96 + q] * value;
        }
        __syncthreads();
    }
    const int row = top + warp * 4, col = left + lane;
    if (col >= n)
        return;
    if (row + 0 < m) c[(row + 0) * n + col] = s0;
    if (row + 1 < m) c[(row + 1) * n + col] = s1;
    if (row + 2 < m) c[(row + 2) * n + col] = s2;
    if (row + 3 < m) c[(row + 3) * n + col] = s3;
}
