/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm-struct_of_sums - Sums are added by one warp and read by all, in a class. */
// rung: grid=rows block=160

class Sums {
public:
    __device__ Sums(float *memory) : shared(memory) {}
    __device__ float add(float value)
    {
        for (int offset = 16; offset >= 1; offset /= 2)
            value += __shfl_down_sync(0xffffffff, value, offset);
        if (threadIdx.x % 32 == 0)
            shared[1 + threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) {
            shared[0] = 0;
            for (unsigned warp = 0; warp < blockDim.x / 32; warp++)
                shared[0] += shared[1 + warp];
        }
        __syncthreads();
        float result = shared[0];
        __syncthreads();
        return result;
    }
private:
    float *shared;
};

__global__ void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int cols)
{
    __shared__ float memory[33];
    Sums sums(memory);
    const float *in = &x[blockIdx.x * cols];
    float *out = &y[blockIdx.x * cols];
    float sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += in[c];
    const float mean = sums.add(sum) / cols;
    float variance = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float d = in[c] - mean;
        variance += d * d;
    }
    variance = sums.add(variance) / cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[c] = (in[c] - mean) / sqrtf(variance + 1e-5f) * gamma[c] + beta[c];
}
