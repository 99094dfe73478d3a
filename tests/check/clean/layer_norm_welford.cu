/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm_welford.cu - Welford's algorithm, merged by shuffles */
// rung: grid=4 block=32 x=f32[4*77] y=f32[4*77]:none cols=77
__global__ void layer_norm(const float *x, float *y, int cols)
{
    const float *row = x + blockIdx.x * cols;
    float mean = 0.0f, m2 = 0.0f, count = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 32) {
        count += 1.0f;
        float delta = row[i] - mean;
        mean += delta / count;
        m2 += delta * (row[i] - mean);
    }
    for (int d = 16; d > 0; d /= 2) {
        float om = __shfl_xor_sync(0xffffffffu, mean, d), o2 = __shfl_xor_sync(0xffffffffu, m2, d);
        float oc = __shfl_xor_sync(0xffffffffu, count, d), total = count + oc, delta = om - mean;
        mean += delta * oc / total;
        m2 += o2 + delta * delta * count * oc / total;
        count = total;
    }
    for (int i = threadIdx.x; i < cols; i += 32)
        y[blockIdx.x * cols + i] = (row[i] - mean) * rsqrtf(m2 / cols + 1e-5f);
}
