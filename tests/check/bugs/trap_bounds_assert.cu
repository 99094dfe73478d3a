/* SPDX-License-Identifier: Apache-2.0 */
/* trap_bounds_assert.cu - an assertion on the index fails */
// rung: grid=(n+63)/64 block=64 x=f32[128] n=100
#include <assert.h>
__global__ void scale(float *x, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    assert(i < n); // BUG trap
    x[i] *= 2.0f;
}
