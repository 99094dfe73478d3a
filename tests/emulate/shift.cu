/* SPDX-License-Identifier: Apache-2.0 */
/* shift.cu - the kernel of driver_api.c. */
extern "C" __device__ int offset = 3;
extern "C" __global__ void shift(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += offset;
}
