/* SPDX-License-Identifier: Apache-2.0 */
/* 26_dynamic_panels - GEMM with panels in dynamic shared memory */
// rung: grid=N/32,M/32 block=32,8 shared=2*32*64*4

// A block computes 32 x 32 elements of C and takes 64 values of k at a time.
extern __shared__ char shared_raw[];

__global__ void gemm_panels(int M, int N, int K, const float *__restrict__ A, const float *__restrict__ B,
                            float *__restrict__ C)
{
    float *panelA = reinterpret_cast<float *>(shared_raw);                              // 32 x 64
    float *panelB = reinterpret_cast<float *>(shared_raw + 32 * 64 * sizeof(float));    // 64 x 32

    const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
    float acc0 = 0.f, acc1 = 0.f, acc2 = 0.f, acc3 = 0.f;

    for (int kk = 0; kk < K; kk += 64) {
        for (int r = threadIdx.y; r < 32; r += 8) {
            panelA[r * 64 + threadIdx.x] = A[(r0 + r) * K + kk + threadIdx.x];
            panelA[r * 64 + threadIdx.x + 32] = A[(r0 + r) * K + kk + threadIdx.x + 32];
        }
        for (int r = threadIdx.y; r < 64; r += 8)
            panelB[r * 32 + threadIdx.x] = B[(kk + r) * N + c0 + threadIdx.x];
        __syncthreads();

        for (int k = 0; k < 64; ++k) {
            const float bv = panelB[k * 32 + threadIdx.x];
            acc0 += panelA[(threadIdx.y + 0) * 64 + k] * bv;
            acc1 += panelA[(threadIdx.y + 8) * 64 + k] * bv;
            acc2 += panelA[(threadIdx.y + 16) * 64 + k] * bv;
            acc3 += panelA[(threadIdx.y + 24) * 64 + k] * bv;
        }
        __syncthreads();
    }

    C[(r0 + threadIdx.y + 0) * N + c0 + threadIdx.x] = acc0;
    C[(r0 + threadIdx.y + 8) * N + c0 + threadIdx.x] = acc1;
    C[(r0 + threadIdx.y + 16) * N + c0 + threadIdx.x] = acc2;
    C[(r0 + threadIdx.y + 24) * N + c0 + threadIdx.x] = acc3;
}
