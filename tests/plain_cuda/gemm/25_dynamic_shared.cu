/* SPDX-License-Identifier: Apache-2.0 */
/* 25_dynamic_shared - tiled product with dynamic shared memory and the tile size as a parameter */
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

using std::cout;
using std::vector;

// Both tiles are in one array, whose size the launch gives.
__global__ void tiledMatMulDynamic(const float *A, const float *B, float *C, int numARows, int numACols, int numBCols,
                                   int tileSize)
{
    extern __shared__ float smem[];
    float *tileA = smem;
    float *tileB = smem + tileSize * tileSize;

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * tileSize + ty;
    int col = blockIdx.x * tileSize + tx;

    float value = 0.0f;
    for (int start = 0; start < numACols; start += tileSize) {
        tileA[ty * tileSize + tx] = (row < numARows && start + tx < numACols) ? A[row * numACols + start + tx] : 0.0f;
        tileB[ty * tileSize + tx] = (start + ty < numACols && col < numBCols) ? B[(start + ty) * numBCols + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < tileSize; k++)
            value += tileA[ty * tileSize + k] * tileB[k * tileSize + tx];
        __syncthreads();
    }

    if (row < numARows && col < numBCols)
        C[row * numBCols + col] = value;
}

int main()
{
    int numARows = 130, numACols = 210, numBCols = 90;
    vector<float> hostA(numARows * numACols), hostB(numACols * numBCols), hostC(numARows * numBCols);
    for (auto &x : hostA) x = rand() % 9 - 4;
    for (auto &x : hostB) x = rand() % 9 - 4;

    float *deviceA, *deviceB, *deviceC;
    cudaMalloc(&deviceA, sizeof(float) * hostA.size());
    cudaMalloc(&deviceB, sizeof(float) * hostB.size());
    cudaMalloc(&deviceC, sizeof(float) * hostC.size());
    cudaMemcpy(deviceA, hostA.data(), sizeof(float) * hostA.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(deviceB, hostB.data(), sizeof(float) * hostB.size(), cudaMemcpyHostToDevice);

    const int tileSize = 16;
    size_t shmem = 2 * tileSize * tileSize * sizeof(float);
    dim3 threads(tileSize, tileSize);
    dim3 blocks((numBCols + tileSize - 1) / tileSize, (numARows + tileSize - 1) / tileSize);
    tiledMatMulDynamic<<<blocks, threads, shmem>>>(deviceA, deviceB, deviceC, numARows, numACols, numBCols, tileSize);
    cudaError_t err = cudaDeviceSynchronize();
    if (err != cudaSuccess) {
        cout << "error: " << cudaGetErrorString(err) << "\n";
        return 1;
    }

    cudaMemcpy(hostC.data(), deviceC, sizeof(float) * hostC.size(), cudaMemcpyDeviceToHost);
    for (int i = 0; i < numARows; i++) {
        for (int j = 0; j < numBCols; j++) {
            float tmp = 0;
            for (int k = 0; k < numACols; k++) tmp += hostA[i * numACols + k] * hostB[k * numBCols + j];
            assert(tmp == hostC[i * numBCols + j]);
        }
    }
    cout << "the results agree\n";
    cudaFree(deviceA);
    cudaFree(deviceB);
    cudaFree(deviceC);
    return 0;
}
