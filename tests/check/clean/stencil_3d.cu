/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_3d.cu - seven points, planes in registers */
// rung: grid=2,2 block=8,8 in=f32[16*16*10] out=f32[16*16*10]:zero
__global__ void heat(const float *in, float *out)
{
    __shared__ float plane[10][10];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float below = in[y * 16 + x], here = in[256 + y * 16 + x];
    for (int z = 1; z < 9; z++) {
        float above = in[(z + 1) * 256 + y * 16 + x];
        plane[ty][tx] = here;
        if (tx == 1)
            plane[ty][0] = x > 0 ? in[z * 256 + y * 16 + x - 1] : 0.0f;
        if (tx == 8)
            plane[ty][9] = x < 15 ? in[z * 256 + y * 16 + x + 1] : 0.0f;
        if (ty == 1)
            plane[0][tx] = y > 0 ? in[z * 256 + (y - 1) * 16 + x] : 0.0f;
        if (ty == 8)
            plane[9][tx] = y < 15 ? in[z * 256 + (y + 1) * 16 + x] : 0.0f;
        __syncthreads();
        out[z * 256 + y * 16 + x] = below + above + plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] +
                                    plane[ty + 1][tx] - 6.0f * here;
        __syncthreads();
        below = here;
        here = above;
    }
}
