/* SPDX-License-Identifier: Apache-2.0 */
/* vector_add_half2.cu - half precision, two elements per thread */
// rung: grid=2 block=64 a=f16[256] b=f16[256] c=f16[256]:none
#include <cuda_fp16.h>
__global__ void add(const __half2 *a, const __half2 *b, __half2 *c)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    c[i] = __hadd2(a[i], b[i]);
}
