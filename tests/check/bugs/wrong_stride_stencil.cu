/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_stride_stencil.cu - the stride of z does not include ny */
// rung: grid=2,2,nz block=8,8 in=f32[nx*ny*nz] out=f32[nx*ny*nz]:none nx=16 ny=12 nz=6
__global__ void copy_interior(const float *in, float *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    if (x < nx && y < ny) {
        int at = z * nx * nx + y * nx + x;
        out[at] = 0.25f * in[at]; // BUG out-of-bounds
    }
}
