/* SPDX-License-Identifier: Apache-2.0 */
/* nbody_global.cu - all pairs from global memory */
// rung: grid=2 block=32 pos=f32[64*4] acc=f32[64*4]:none
__global__ void forces(const float4 *pos, float4 *acc)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    float4 p = pos[i], a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int j = 0; j < 64; j++) {
        float4 q = pos[j];
        float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        float s = q.w * r * r * r;
        a.x += dx * s;
        a.y += dy * s;
        a.z += dz * s;
    }
    acc[i] = a;
}
