/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_batched.cu - a batch in the y dimension */
// rung: grid=1,3 block=8,8 a=f64[3*64] b=f64[3*64] c=f64[3*64]:none
__global__ void dgemm(const double *a, const double *b, double *c)
{
    a += blockIdx.y * 64;
    b += blockIdx.y * 64;
    c += blockIdx.y * 64;
    double sum = 0.0;
    for (int i = 0; i < 8; i++)
        sum += a[threadIdx.y * 8 + i] * b[i * 8 + threadIdx.x];
    c[threadIdx.y * 8 + threadIdx.x] = sum;
}
