# SPDX-License-Identifier: Apache-2.0
# guarded_kernel.sh - the file matmul.cu for scripts: a kernel that takes any size, with its launch, and copies with a change.
cat > "$work/matmul.cu" << 'FILE'
#define EDGE 16
__global__ void gemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    __shared__ float a[EDGE][EDGE], b[EDGE][EDGE];
    int i = blockIdx.y * EDGE + threadIdx.y, j = blockIdx.x * EDGE + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += EDGE) {
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = i < M && ka < K ? A[i * K + ka] : 0;
        b[threadIdx.y][threadIdx.x] = kb < K && j < N ? B[kb * N + j] : 0;
        __syncthreads();
        for (int k = 0; k < EDGE; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (i < M && j < N)
        C[i * N + j] = alpha * sum + beta * C[i * N + j];
}
void launch(int M, int N, int K, float *A, float *B, float *C)
{
    dim3 blocks((N + EDGE - 1) / EDGE, (M + EDGE - 1) / EDGE);
    gemm<<<blocks, dim3(EDGE, EDGE)>>>(M, N, K, 1, A, B, 0, C);
}
FILE
# change NAME SED-EXPRESSION - a copy of the kernel with a change
change() { sed "$2" "$work/matmul.cu" > "$work/$1"; cmp -s "$work/matmul.cu" "$work/$1" && fail "$1 is not changed"; }
