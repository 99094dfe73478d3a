/* SPDX-License-Identifier: Apache-2.0 */
/* nbody_integrate.cu - forces, then positions in a second kernel */
// rung: kernel=kick grid=1 block=64 x=f32[64] v=f32[64]
// rung: kernel=drift grid=1 block=64 x=f32[64] v=f32[64] dt=0.01
__global__ void kick(const float *x, float *v)
{
    float sum = 0.0f;
    for (int j = 0; j < 64; j++)
        sum += x[j] - x[threadIdx.x];
    v[threadIdx.x] += 0.01f * sum;
}
__global__ void drift(float *x, const float *v, float dt)
{
    x[threadIdx.x] += dt * v[threadIdx.x];
}
