/* SPDX-License-Identifier: Apache-2.0 */
/* aliasing_transpose_in_place.cu - both triangles are swapped, so every pair twice */
// rung: grid=2,2 block=16,16 a=f32[n*n] n=32
__global__ void transpose(float *a, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float upper = a[row * n + col], lower = a[col * n + row]; // BUG race
    if (row != col) {
        a[row * n + col] = lower; // BUG race
        a[col * n + row] = upper; // BUG race
    }
}
