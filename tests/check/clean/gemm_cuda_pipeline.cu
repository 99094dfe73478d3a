/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cuda_pipeline.cu - cuda::pipeline with thread scope */
// rung: grid=1 block=64 x=f32[64*6] y=f32[64]:none
#include <cuda/pipeline>
__global__ void sums(const float *x, float *y)
{
    __shared__ float stage[2][64];
    auto pipe = cuda::make_pipeline();
    int t = threadIdx.x;
    float sum = 0.0f;
    pipe.producer_acquire();
    cuda::memcpy_async(&stage[0][t], x + t, sizeof(float), pipe);
    pipe.producer_commit();
    for (int s = 0; s < 6; s++) {
        if (s + 1 < 6) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[(s + 1) % 2][t], x + (s + 1) * 64 + t, sizeof(float), pipe);
            pipe.producer_commit();
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        } else {
            cuda::pipeline_consumer_wait_prior<0>(pipe);
        }
        __syncthreads();
        sum += stage[s % 2][63 - t];
        __syncthreads();
        pipe.consumer_release();
    }
    y[t] = sum;
}
