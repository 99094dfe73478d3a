/* SPDX-License-Identifier: Apache-2.0 */
/* strided - wrong: coalesced accesses, memory traffic */
// rung: grid=(n+1023)/1024 block=256

__global__ void saxpy(float factor, const float *x, float *y, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int i = first; i < first + 4 && i < n; i++) {
        float value = factor * x[i];
        __threadfence(); // keeps the compiler from combining the loads
        y[i] = value + y[i];
    }
}
