/* SPDX-License-Identifier: Apache-2.0 */
/* barrier_in_branch_stencil.cu - __syncthreads() inside of the bounds check */
// rung: grid=(n+127)/128 block=128 in=f32[n] out=f32[n]:none n=300
__global__ void smooth(const float *in, float *out, int n)
{
    __shared__ float tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) {
        tile[threadIdx.x] = in[i];
        __syncthreads(); // BUG barrier
        float left = threadIdx.x > 0 ? tile[threadIdx.x - 1] : in[i > 0 ? i - 1 : 0];
        out[i] = 0.5f * (left + tile[threadIdx.x]);
    }
}
