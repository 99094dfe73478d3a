/* SPDX-License-Identifier: Apache-2.0 */
/* aliasing_gather_in_place.cu - a permutation in place */
// rung: grid=4 block=32 data=f32[128] step=37
__global__ void permute(float *data, int step)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    data[i] = data[(i * step) % 128]; // BUG race
}
