/* SPDX-License-Identifier: Apache-2.0 */
/* trap_sorted_assert.cu - the input is not sorted */
// rung: grid=1 block=64 x=i32[64]
#include <assert.h>
__global__ void unique_flags(int *x)
{
    int here = x[threadIdx.x], before = threadIdx.x ? x[threadIdx.x - 1] : here;
    __syncthreads();
    assert(before <= here); // BUG trap
    x[threadIdx.x] = before != here;
}
