/* SPDX-License-Identifier: Apache-2.0 */
/* convolution_1d_channels.cu - the tile is reused for each channel */
// rung: grid=w/64 block=64 in=f32[channels*(w+4)] weights=f32[channels*5] out=f32[w]:none channels=3 w=128
__global__ void conv(const float *in, const float *weights, float *out, int channels, int w)
{
    __shared__ float tile[68];
    int x = blockIdx.x * 64 + threadIdx.x;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++) {
        const float *row = in + c * (w + 4);
        __syncthreads();
        tile[threadIdx.x] = row[x];
        if (threadIdx.x < 4)
            tile[threadIdx.x + 64] = row[x + 64];
        __syncthreads();
        for (int t = 0; t < 5; t++)
            sum += weights[c * 5 + t] * tile[threadIdx.x + t];
    }
    out[x] = sum;
}
