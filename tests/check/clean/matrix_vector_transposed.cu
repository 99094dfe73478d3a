/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_vector_transposed.cu - columns are added with atomics */
// rung: grid=3 block=64 a=f32[30*64] x=f32[30] y=f32[64]:zero
__global__ void gemv_t(const float *a, const float *x, float *y)
{
    float sum = 0.0f;
    for (int row = blockIdx.x * 10; row < blockIdx.x * 10 + 10; row++)
        sum += a[row * 64 + threadIdx.x] * x[row];
    atomicAdd(&y[threadIdx.x], sum);
}
