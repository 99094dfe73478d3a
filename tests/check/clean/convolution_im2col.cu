/* SPDX-License-Identifier: Apache-2.0 */
/* convolution_im2col.cu - im2col, then a matrix product */
// rung: kernel=im2col grid=1 block=64 in=f32[10*10] cols=f32[9*64]:none
// rung: kernel=product grid=4 block=64 weights=f32[4*9] cols=f32[9*64]:none out=f32[4*64]:none
__global__ void im2col(const float *in, float *cols)
{
    int x = threadIdx.x % 8, y = threadIdx.x / 8;
    for (int k = 0; k < 9; k++)
        cols[k * 64 + threadIdx.x] = in[(y + k / 3) * 10 + x + k % 3];
}
__global__ void product(const float *weights, const float *cols, float *out)
{
    float sum = 0.0f;
    for (int k = 0; k < 9; k++)
        sum += weights[blockIdx.x * 9 + k] * cols[k * 64 + threadIdx.x];
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}
