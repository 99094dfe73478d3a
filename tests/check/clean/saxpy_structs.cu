/* SPDX-License-Identifier: Apache-2.0 */
/* saxpy_structs.cu - an array of structures */
// rung: grid=1 block=64 p=f32[64*3] v=f32[64*3] dt=0.1
struct vec3 { float x, y, z; };
__global__ void move(vec3 *p, const vec3 *v, float dt)
{
    vec3 here = p[threadIdx.x], speed = v[threadIdx.x];
    here.x += dt * speed.x;
    here.y += dt * speed.y;
    here.z += dt * speed.z;
    p[threadIdx.x] = here;
}
