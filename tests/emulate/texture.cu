/* SPDX-License-Identifier: Apache-2.0 */
/* texture.cu - a program with a texture, which is not emulated: the call and the kernel fail. */
#include <stdio.h>

__global__ void copy(cudaTextureObject_t texture, float *y)
{
    y[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
}

int main()
{
    float *x, *y;
    cudaMalloc(&x, 256);
    cudaMalloc(&y, 256);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = x;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = 256;
    cudaTextureDesc description = {};
    cudaTextureObject_t texture = 0;
    printf("create: %s\n", cudaGetErrorString(cudaCreateTextureObject(&texture, &resource, &description, 0)));
    copy<<<1, 64>>>(texture, y);
    return cudaGetLastError() == cudaSuccess;
}
