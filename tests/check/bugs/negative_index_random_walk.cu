/* SPDX-License-Identifier: Apache-2.0 */
/* negative_index_random_walk.cu - the position of a walker falls below zero */
// rung: grid=2 block=64 seeds=u32[128]:iota field=f32[1000] out=f32[128]:none
__global__ void walk(const unsigned *seeds, const float *field, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, position = i;
    unsigned state = seeds[i] * 2654435761u + 1u;
    float sum = 0.0f;
    for (int step = 0; step < 100; step++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        position += (int)(state % 7u) - 3;
        sum += field[position]; // BUG out-of-bounds
    }
    out[i] = sum;
}
