/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_red_black.cu - a step updates cells of one colour in place */
// rung: grid=1 block=16,16 u=f32[18*18] colour=0
// rung: grid=1 block=16,16 u=f32[18*18] colour=1
__global__ void relax(float *u, int colour)
{
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    if (((x + y) & 1) == colour)
        u[y * 18 + x] = 0.25f * (u[y * 18 + x - 1] + u[y * 18 + x + 1] + u[(y - 1) * 18 + x] + u[(y + 1) * 18 + x]);
}
