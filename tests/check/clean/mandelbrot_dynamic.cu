/* SPDX-License-Identifier: Apache-2.0 */
/* mandelbrot_dynamic.cu - warps take rows from a counter */
// rung: grid=2 block=64 image=u8[32*20]:none next=i32[1]:zero
__global__ void mandelbrot(unsigned char *image, int *next)
{
    int lane = threadIdx.x % 32;
    for (;;) {
        int row = 0;
        if (lane == 0)
            row = atomicAdd(next, 1);
        row = __shfl_sync(0xffffffffu, row, 0);
        if (row >= 20)
            break;
        float cx = -2.0f + 3.0f * lane / 32, cy = -1.0f + 0.1f * row, x = 0.0f, y = 0.0f;
        int n = 0;
        for (; n < 30 && x * x + y * y < 4.0f; n++) {
            float t = x * x - y * y + cx;
            y = 2.0f * x * y + cy;
            x = t;
        }
        image[row * 32 + lane] = (unsigned char)n;
    }
}
