/* SPDX-License-Identifier: Apache-2.0 */
/* random_monte_carlo.cu - pi with one atomic per warp */
// rung: grid=2 block=64 hits=u32[1]:zero
__global__ void pi(unsigned *hits)
{
    unsigned state = (blockIdx.x * 64 + threadIdx.x) * 747796405u + 2891336453u, inside = 0;
    for (int k = 0; k < 16; k++) {
        state = state * 1664525u + 1013904223u;
        float x = (state >> 8) * 5.9604645e-8f;
        state = state * 1664525u + 1013904223u;
        float y = (state >> 8) * 5.9604645e-8f;
        inside += x * x + y * y < 1.0f;
    }
    inside = __reduce_add_sync(0xffffffffu, inside);
    if (threadIdx.x % 32 == 0)
        atomicAdd(hits, inside);
}
