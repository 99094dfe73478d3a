/* SPDX-License-Identifier: Apache-2.0 */
/* nbody_tiled.cu - tiles of bodies in shared memory */
// rung: grid=2 block=64 pos=f32[128*4] acc=f32[128*4]:none
__global__ void forces(const float4 *pos, float4 *acc)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 p = pos[i], a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int t = 0; t < 128; t += 64) {
        tile[threadIdx.x] = pos[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            float4 q = tile[j];
            float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = q.w * r * r * r;
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
        __syncthreads();
    }
    acc[i] = a;
}
