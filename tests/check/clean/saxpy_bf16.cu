/* SPDX-License-Identifier: Apache-2.0 */
/* saxpy_bf16.cu - bfloat16 input, float output */
// rung: grid=2 block=128 x=bf16[256] y=f32[256] a=0.5
#include <cuda_bf16.h>
__global__ void saxpy(const __nv_bfloat16 *x, float *y, float a)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    y[i] += a * __bfloat162float(x[i]);
}
