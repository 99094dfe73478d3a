/* SPDX-License-Identifier: Apache-2.0 */
/* no_barrier - wrong: public shapes, hidden shapes, no wrong accesses, no races, no bank conflicts, memory traffic; found: race */
#define W 32
#define H 8
// rung: grid=(width+W-1)/W,(height+H-1)/H block=W,H

__global__ void stencil(const float *in, float *out, int width, int height)
{
    __shared__ float tile[H + 2][W + 2];
    int x = blockIdx.x * W + threadIdx.x, y = blockIdx.y * H + threadIdx.y;
    for (int i = threadIdx.y * W + threadIdx.x; i < (H + 2) * (W + 2); i += W * H) {
        int row = i / (W + 2), col = i % (W + 2);
        int from_y = blockIdx.y * H + row - 1, from_x = blockIdx.x * W + col - 1;
        bool is_inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
        tile[row][col] = is_inside ? in[from_y * width + from_x] : 0;
    }
    if (x < width && y < height) {
        int row = threadIdx.y + 1, col = threadIdx.x + 1;
        out[y * width + x] = 0.2f * (tile[row][col] + tile[row - 1][col] + tile[row + 1][col] +
                                     tile[row][col - 1] + tile[row][col + 1]);
    }
}
