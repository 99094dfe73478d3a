/* SPDX-License-Identifier: Apache-2.0 */
/* 53_bias_relu - linear layer with bias and ReLU in the epilogue */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define TILE_SIZE 16
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

__device__ inline float relu(float v) { return v > 0.0f ? v : 0.0f; }

// out = relu(inp * weight + bias), bias has N elements
__global__ void fused_linear_relu(float *out, const float *inp, const float *weight, const float *bias, int M, int N,
                                  int K)
{
    __shared__ float inp_s[TILE_SIZE][TILE_SIZE];
    __shared__ float weight_s[TILE_SIZE][TILE_SIZE];
    int row = blockIdx.y * TILE_SIZE + threadIdx.y;
    int col = blockIdx.x * TILE_SIZE + threadIdx.x;
    float val = 0.0f;
    for (int t = 0; t < CEIL_DIV(K, TILE_SIZE); t++) {
        int k = t * TILE_SIZE;
        inp_s[threadIdx.y][threadIdx.x] = (row < M && k + threadIdx.x < K) ? inp[row * K + k + threadIdx.x] : 0.0f;
        weight_s[threadIdx.y][threadIdx.x] = (col < N && k + threadIdx.y < K) ? weight[(k + threadIdx.y) * N + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE_SIZE; i++) val += inp_s[threadIdx.y][i] * weight_s[i][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) {
        out[row * N + col] = relu(val + bias[col]);
    }
}

int main()
{
    int M = 50, N = 70, K = 90;
    std::vector<float> inp(M * K), weight(K * N), bias(N), out(M * N);
    for (auto &v : inp) v = rand() % 5 - 2;
    for (auto &v : weight) v = rand() % 5 - 2;
    for (auto &v : bias) v = rand() % 5 - 2;

    float *d_inp, *d_weight, *d_bias, *d_out;
    cudaMalloc(&d_inp, inp.size() * sizeof(float));
    cudaMalloc(&d_weight, weight.size() * sizeof(float));
    cudaMalloc(&d_bias, bias.size() * sizeof(float));
    cudaMalloc(&d_out, out.size() * sizeof(float));
    cudaMemcpy(d_inp, inp.data(), inp.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_weight, weight.data(), weight.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_bias, bias.data(), bias.size() * sizeof(float), cudaMemcpyHostToDevice);

    dim3 block_dim(TILE_SIZE, TILE_SIZE);
    dim3 grid_dim(CEIL_DIV(N, TILE_SIZE), CEIL_DIV(M, TILE_SIZE));
    fused_linear_relu<<<grid_dim, block_dim>>>(d_out, d_inp, d_weight, d_bias, M, N, K);
    cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);

    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = bias[j];
            for (int k = 0; k < K; k++) s += inp[i * K + k] * weight[k * N + j];
            if (std::max(s, 0.0f) != out[i * N + j]) {
                printf("row %d column %d: got %f, want %f\n", i, j, out[i * N + j], std::max(s, 0.0f));
                return 1;
            }
        }
    printf("all %d results agree\n", M * N);
    return 0;
}
