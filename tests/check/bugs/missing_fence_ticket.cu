/* SPDX-License-Identifier: Apache-2.0 */
/* missing_fence_ticket.cu - blocks take their order from a counter, and read the result of the one before */
// rung: grid=4 block=32 x=f32[128] chain=f32[5]:zero done=u32[1]:zero
__global__ void ordered_sum(const float *x, float *chain, unsigned *done)
{
    float value = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, d);
    if (threadIdx.x == 0) {
        while (atomicAdd(done, 0u) < blockIdx.x)
            ;
        chain[blockIdx.x + 1] = chain[blockIdx.x] + value; // BUG race
        atomicAdd(done, 1u);
    }
}
