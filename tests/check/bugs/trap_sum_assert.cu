/* SPDX-License-Identifier: Apache-2.0 */
/* trap_sum_assert.cu - the probabilities are not normalised */
// rung: grid=2 block=32 x=f32[64] y=f32[64]:none
#include <assert.h>
__global__ void check_probabilities(const float *x, float *y)
{
    float value = x[blockIdx.x * 32 + threadIdx.x], sum = value;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    assert(fabsf(sum - 1.0f) < 1e-3f); // BUG trap
    y[blockIdx.x * 32 + threadIdx.x] = value;
}
