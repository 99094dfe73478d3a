/* SPDX-License-Identifier: Apache-2.0 */
/* vector_add_float4.cu - vectors of four elements with a scalar tail */
// rung: grid=(n/4+63)/64 block=64 a=f32[n] b=f32[n] c=f32[n]:none n=403
__global__ void add4(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 x = reinterpret_cast<const float4 *>(a)[i], y = reinterpret_cast<const float4 *>(b)[i];
        reinterpret_cast<float4 *>(c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    int tail = n / 4 * 4 + i;
    if (tail < n)
        c[tail] = a[tail] + b[tail];
}
