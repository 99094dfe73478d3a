/* SPDX-License-Identifier: Apache-2.0 */
/* spmv_coo.cu - one thread per nonzero, atomics */
// rung: grid=4 block=64 rows=i32[256] cols=i32[256] values=f32[256] x=f32[10] y=f32[10]:zero
__global__ void spmv(const int *rows, const int *cols, const float *values, const float *x, float *y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    atomicAdd(&y[rows[i]], values[i] * x[cols[i]]);
}
