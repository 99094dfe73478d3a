/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_argmax.cu - the maximum and its index */
// rung: grid=1 block=128 x=f32[128] index=i32[1]:none
__global__ void argmax(const float *x, int *index)
{
    __shared__ float values[128];
    __shared__ int indices[128];
    int t = threadIdx.x;
    values[t] = x[t];
    indices[t] = t;
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (t < d && values[t + d] > values[t]) {
            values[t] = values[t + d];
            indices[t] = indices[t + d];
        }
        __syncthreads();
    }
    if (t == 0)
        *index = indices[0];
}
