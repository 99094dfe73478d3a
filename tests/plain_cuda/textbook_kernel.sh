# SPDX-License-Identifier: Apache-2.0
# textbook_kernel.sh - the file matmul.cu for scripts, and copies of it with a change.
cat > "$work/matmul.cu" << 'END'
#define TILE 16
__global__ void matmul(const float *A, const float *B, float *C, int N)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < N / TILE; t++) {
        As[threadIdx.y][threadIdx.x] = A[row * N + t * TILE + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
END
# change NAME SED-EXPRESSION - a copy of the kernel with a change
change() { sed "$2" "$work/matmul.cu" > "$work/$1"; cmp -s "$work/matmul.cu" "$work/$1" && fail "$1 is not changed"; }
launch=(--block 16,16 --grid '(N+15)/16,(N+15)/16')
