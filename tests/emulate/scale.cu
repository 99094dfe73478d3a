/* SPDX-License-Identifier: Apache-2.0 */
/* scale.cu - the smallest CUDA program: doubles an array. link_modes.sh builds it in every way that nvcc links. */
#include <cstdio>

__global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}

int main()
{
    const int n = 1000;
    float host[n], *device = nullptr;
    for (int i = 0; i < n; i++)
        host[i] = float(i);
    cudaMalloc(&device, sizeof host);
    cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    scale<<<(n + 255) / 256, 256>>>(device, n);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        if (host[i] != 2 * float(i)) {
            printf("wrong at %d: %g (%s)\n", i, host[i], cudaGetErrorString(cudaGetLastError()));
            return 1;
        }
    cudaFree(device);
    printf("scaled\n");
    return 0;
}
