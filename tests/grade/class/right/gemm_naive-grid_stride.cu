/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_naive-grid_stride - A loop over all elements with one index, and a macro for indices. */
#define AT(matrix, row, col, ld) ((matrix)[(row) * (ld) + (col)])
// rung: grid=7 block=96

__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    for (int index = blockIdx.x * 96 + threadIdx.x; index < m * n; index += 7 * 96) {
        int row = index / n, col = index % n;
        float result = 0.0f;
        int step = 0;
        while (step < k) {
            result = fmaf(AT(a, row, step, k), AT(b, step, col, n), result);
            ++step;
        }
        AT(c, row, col, n) = result;
    }
}
