/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_before_reuse_convolution.cu - no barrier before the next input tile */
// rung: grid=w/64 block=64 in=f32[channels*(w+4)] weights=f32[channels*5] out=f32[w]:none channels=3 w=256
__global__ void conv1d_channels(const float *in, const float *weights, float *out, int channels, int w)
{
    __shared__ float tile[64 + 4];
    int x = blockIdx.x * 64 + threadIdx.x;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++) {
        const float *row = in + c * (w + 4);
        tile[threadIdx.x] = row[x]; // BUG race
        if (threadIdx.x < 4)
            tile[threadIdx.x + 64] = row[x + 64]; // BUG race
        __syncthreads();
        for (int t = 0; t < 5; t++)
            sum += weights[c * 5 + t] * tile[threadIdx.x + t]; // BUG race
    }
    out[x] = sum;
}
