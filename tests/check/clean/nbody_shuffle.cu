/* SPDX-License-Identifier: Apache-2.0 */
/* nbody_shuffle.cu - bodies travel around the warp */
// rung: grid=1 block=32 x=f32[32] force=f32[32]:none
__global__ void forces(const float *x, float *force)
{
    int lane = threadIdx.x;
    float mine = x[lane], other = mine, sum = 0.0f;
    for (int i = 0; i < 32; i++) {
        other = __shfl_sync(0xffffffffu, other, lane + 1);
        float d = other - mine;
        sum += d / (d * d + 0.1f);
    }
    force[lane] = sum;
}
