/* SPDX-License-Identifier: Apache-2.0 */
/* vector_alignment_half2.cu - half2 loads at an odd index */
// rung: grid=1 block=64 x=f16[130] y=f16[128]:none
#include <cuda_fp16.h>
__global__ void neighbour_sum(const __half *x, __half *y)
{
    int i = 2 * threadIdx.x;
    __half2 here = *reinterpret_cast<const __half2 *>(x + i);
    __half2 next = *reinterpret_cast<const __half2 *>(x + i + 1); // BUG misaligned
    *reinterpret_cast<__half2 *>(y + i) = __hadd2(here, next);
}
