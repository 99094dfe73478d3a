/* SPDX-License-Identifier: Apache-2.0 */
/* small_overrun_pixels.cu - a pixel of 3 bytes is written as 4 bytes in rows without padding */
// rung: grid=1 block=32 gray=u8[32] rgb=u8[32*3]:none
__global__ void expand(const unsigned char *gray, unsigned char *rgb)
{
    unsigned char g = gray[threadIdx.x], *pixel = rgb + 3 * threadIdx.x;
    for (int channel = 0; channel < 4; channel++)
        pixel[channel] = channel < 3 ? g : 255; // BUG out-of-bounds
}
