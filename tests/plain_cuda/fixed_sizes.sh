#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fixed_sizes.sh - constants of the file that are the sizes of the matrices, and constants of tiles that are not.
set -u
. "$(dirname "$0")/common.sh"

cat > "$work/macro.cu" << 'EOF'
#define N 64
__global__ void matmul(const float *A, const float *B, float *C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += A[row * N + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}
int main()
{
    float *A, *B, *C;
    dim3 block(16, 16), grid((N + 15) / 16, (N + 15) / 16);
    matmul<<<grid, block>>>(A, B, C);
}
EOF
sizes="correct only when M, N and K are 64 constants of the file:"
run 0 verify "$work/macro.cu"
says "$sizes N = 64 in line 1"
says "cases 4 of 4 right"
sed 's/#define N 64/const int WIDTH = 64;/; s/\bN\b/WIDTH/g' "$work/macro.cu" > "$work/width.cu"
run 0 verify "$work/width.cu"
says "$sizes WIDTH = 64 in line 1"
run 0 explain "$work/macro.cu"
says "f32 64 x 64 x 64"
says "Note: the sizes are constants of the file: N = 64 in line 1."
# A bug is found at this size, and a larger size is refused.
sed 's/k < N/k < N - 1/' "$work/macro.cu" > "$work/short.cu"
run 1 verify "$work/short.cu"
says "the last"
sed 's/#define N 64/#define N 1024/' "$work/macro.cu" > "$work/large.cu"
run 2 verify "$work/large.cu"
says "the kernel uses N = 1024 of line 1 as a size; rung verify runs sizes up to 512"

# Three constants, in place of parameters that the kernel ignores.
sed -e 's/#define N 64/const int M = 96, N = 64, K = 32;/' -e 's/float \*C)/float *C, int m, int n, int k)/' -e 's/row < N/row < M/' \
    -e 's/k < N/k < K/' -e 's/row \* N + k\]/row * K + k]/' -e 's/(N + 15) \/ 16);/(M + 15) \/ 16);/' -e 's/>(A, B, C)/>(A, B, C, M, N, K)/' \
    "$work/macro.cu" > "$work/ignored.cu"
run 0 verify "$work/ignored.cu"
says "correct only when M is 96, N is 64, and K is 32"

# One constant beside parameters.
sed -e 's/float \*C)/float *C, int M, int K)/' -e 's/row < N/row < M/' -e 's/k < N/k < K/' -e 's/row \* N + k\]/row * K + k]/' \
    -e 's/(N + 15) \/ 16);/(M + 15) \/ 16);/' -e 's/>(A, B, C)/>(A, B, C, M, K)/' -e 's/float \*A, \*B/int M = 100, K = 100; float *A, *B/' \
    "$work/macro.cu" > "$work/mixed.cu"
run 0 verify "$work/mixed.cu"
says "correct only when N is 64 constants of the file: N = 64 in line 1"

# The constant of a tile is no size, whatever its name is.
cat > "$work/tile.cu" << 'EOF'
#define N 16
__global__ void matmul(const float *A, const float *B, float *C, int width)
{
    __shared__ float As[N][N], Bs[N][N];
    int row = blockIdx.y * N + threadIdx.y, col = blockIdx.x * N + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < width / N; t++) {
        As[threadIdx.y][threadIdx.x] = A[row * width + t * N + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t * N + threadIdx.y) * width + col];
        __syncthreads();
        for (int k = 0; k < N; k++)
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * width + col] = sum;
}
// rung: grid=width/16,width/16 block=16,16
EOF
run 0 verify "$work/tile.cu"
says "correct only when N is a multiple of 16"
lacks "constants of the file"
exit $bad
