/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_before_reuse_nbody.cu - no barrier before the next tile of bodies is loaded */
// rung: grid=n/64 block=64 pos=f32[n*4] acc=f32[n*4]:none n=256
__global__ void forces(const float4 *pos, float4 *acc, int n)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 p = pos[i];
    float3 a = {0.0f, 0.0f, 0.0f};
    for (int t = 0; t < n; t += 64) {
        tile[threadIdx.x] = pos[t + threadIdx.x]; // BUG race
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            float4 q = tile[j]; // BUG race
            float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = q.w * r * r * r;
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
    }
    acc[i] = make_float4(a.x, a.y, a.z, 0.0f);
}
