/* SPDX-License-Identifier: Apache-2.0 */
/* rms_norm.cu - half precision rows */
// rung: grid=2 block=64 x=f16[2*128] y=f16[2*128]:none
#include <cuda_fp16.h>
__global__ void rms_norm(const __half *x, __half *y)
{
    __shared__ float warps[2];
    float2 v = __half22float2(reinterpret_cast<const __half2 *>(x)[blockIdx.x * 64 + threadIdx.x]);
    float sum = v.x * v.x + v.y * v.y;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    float scale = rsqrtf((warps[0] + warps[1]) / 128.0f + 1e-6f);
    reinterpret_cast<__half2 *>(y)[blockIdx.x * 64 + threadIdx.x] = __floats2half2_rn(v.x * scale, v.y * scale);
}
