/* SPDX-License-Identifier: Apache-2.0 */
/* vector_add_template.cu - a template over the type and the elements per thread */
// rung: grid=(n+255)/256 block=64 template=float,4 a=f32[n] b=f32[n] c=f32[n]:none n=900
template <typename T, int ITEMS>
__global__ void add(const T *a, const T *b, T *c, int n)
{
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        int i = blockIdx.x * blockDim.x * ITEMS + k * blockDim.x + threadIdx.x;
        if (i < n)
            c[i] = a[i] + b[i];
    }
}
