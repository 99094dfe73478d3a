/* SPDX-License-Identifier: Apache-2.0 */
/* aliasing_stencil_in_place.cu - one array is input and output */
// rung: grid=(n+63)/64 block=64 x=f32[n] n=200
__global__ void smooth(float *x, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i > 0 && i < n - 1)
        x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0f; // BUG race
}
