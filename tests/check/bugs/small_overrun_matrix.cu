/* SPDX-License-Identifier: Apache-2.0 */
/* small_overrun_matrix.cu - one row too many */
// rung: grid=1 block=8,8 a=f32[7*7] n=7
__global__ void clear_lower(float *a, int n)
{
    int row = threadIdx.y, col = threadIdx.x;
    if (row <= n && col < row && col < n)
        a[row * n + col] = 0.0f; // BUG out-of-bounds
}
