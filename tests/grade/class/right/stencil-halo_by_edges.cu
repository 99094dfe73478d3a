/* SPDX-License-Identifier: Apache-2.0 */
/* stencil-halo_by_edges - Threads at the edges of the block load the border. */
#define W 32
#define H 8
// rung: grid=(width+W-1)/W,(height+H-1)/H block=W,H

__device__ float at(const float *in, int x, int y, int width, int height)
{
    return x < 0 || y < 0 || x >= width || y >= height ? 0.0f : in[y * width + x];
}

__global__ void stencil(const float *in, float *out, int width, int height)
{
    __shared__ float s[H + 2][W + 2];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * W + tx, y = blockIdx.y * H + ty;
    s[ty + 1][tx + 1] = at(in, x, y, width, height);
    if (ty == 0)
        s[0][tx + 1] = at(in, x, y - 1, width, height);
    if (ty == H - 1)
        s[H + 1][tx + 1] = at(in, x, y + 1, width, height);
    if (tx == 0)
        s[ty + 1][0] = at(in, x - 1, y, width, height);
    if (tx == W - 1)
        s[ty + 1][W + 1] = at(in, x + 1, y, width, height);
    __syncthreads();
    if (x >= width || y >= height)
        return;
    float sum = s[ty + 1][tx + 1];
    sum += s[ty][tx + 1] + s[ty + 2][tx + 1];
    sum += s[ty + 1][tx] + s[ty + 1][tx + 2];
    out[y * width + x] = sum / 5;
}
