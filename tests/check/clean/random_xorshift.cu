/* SPDX-License-Identifier: Apache-2.0 */
/* random_xorshift.cu - a state per thread */
// rung: grid=2 block=64 seeds=u32[128]:iota out=f32[128]:none
__global__ void numbers(unsigned *seeds, float *out)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    unsigned state = seeds[i] * 2654435761u + 12345u;
    float sum = 0.0f;
    for (int k = 0; k < 20; k++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        sum += state * 2.3283064e-10f;
    }
    seeds[i] = state;
    out[i] = sum / 20.0f;
}
