/* SPDX-License-Identifier: Apache-2.0 */
/* sort_bitonic_warp.cu - bitonic sort of a warp by shuffles */
// rung: grid=1 block=64 keys=f32[64]
__global__ void sort32(float *keys)
{
    int lane = threadIdx.x % 32;
    float key = keys[threadIdx.x];
    for (int size = 2; size <= 32; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            float other = __shfl_xor_sync(0xffffffffu, key, stride);
            bool up = (lane & size) == 0, lower = (lane & stride) == 0;
            key = up == lower ? fminf(key, other) : fmaxf(key, other);
        }
    keys[threadIdx.x] = key;
}
