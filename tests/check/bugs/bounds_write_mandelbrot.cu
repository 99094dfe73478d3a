/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_write_mandelbrot.cu - the height is rounded up to the block without a check */
// rung: grid=(w+15)/16,(h+7)/8 block=16,8 image=u8[w*h]:none w=64 h=36
__global__ void mandelbrot(unsigned char *image, int w, int h)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = -2.0f + 3.0f * px / w, cy = -1.0f + 2.0f * py / h, x = 0.0f, y = 0.0f;
    int n = 0;
    while (n < 50 && x * x + y * y < 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    image[py * w + px] = (unsigned char)n; // BUG out-of-bounds
}
