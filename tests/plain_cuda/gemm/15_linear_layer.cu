/* SPDX-License-Identifier: Apache-2.0 */
/* 15_linear_layer - a linear layer: activations times transposed weights */
// y[b][o] = sum over i of x[b][i] * w[o][i]; the weights are stored with one row per output feature.
// rung: grid=(out_features+31)/32,(batch+7)/8 block=32,8
__global__ void linear_forward(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y,
                               int batch, int in_features, int out_features)
{
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    const int b = blockIdx.y * blockDim.y + threadIdx.y;
    if (b >= batch || o >= out_features) {
        return;
    }

    const float *xrow = x + (size_t)b * in_features;
    const float *wrow = w + (size_t)o * in_features;
    float acc = 0.f;
#pragma unroll 4
    for (int i = 0; i < in_features; ++i) {
        acc += xrow[i] * wrow[i];
    }
    y[(size_t)b * out_features + o] = acc;
}
