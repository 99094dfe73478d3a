/* SPDX-License-Identifier: Apache-2.0 */
/* 57_k_outermost - product whose outer loop runs over k, downwards */
// rung: grid=m block=128
// One block per row of the result. Each step adds a multiple of a row of B to the row in shared memory.
#define MAX_ROW 1024

__global__ void row_axpy_matmul(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float acc[MAX_ROW];
    const int i = blockIdx.x;

    for (int j0 = 0; j0 < n; j0 += MAX_ROW) {
        const int width = min(MAX_ROW, n - j0);
        // A thread uses only its own elements of acc, so no barrier is needed.
        for (int j = threadIdx.x; j < width; j += blockDim.x) acc[j] = 0.0f;
        for (int p = k - 1; p >= 0; --p) {
            const float a = A[i * k + p];
            for (int j = threadIdx.x; j < width; j += blockDim.x) acc[j] += a * B[p * n + j0 + j];
        }
        for (int j = threadIdx.x; j < width; j += blockDim.x) C[i * n + j0 + j] = acc[j];
    }
}
