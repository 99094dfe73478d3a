#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# launch_values.sh - where rung verify gets the values of a launch in host code, and what it says if a value is unknown.
set -u
. "$(dirname "$0")/common.sh"

# write NAME HOST-CODE - a file with a tiled kernel and the host code; the grid must match the matrices exactly
write() {
    cat > "$work/$1.cu" << EOF
template <int TILE> __global__ void matmul(float *C, const float *A, const float *B, int wA, int wB)
{
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < wA; k++)
        sum += A[row * wA + k] * B[k * wB + col];
    C[row * wB + col] = sum;
}
$2
EOF
}

# Sizes in members of dim3 variables are those of the problem; tile sizes come from conditions and template arguments.
write members 'void multiply(float *C, float *A, float *B, int tile, const dim3 &dimsA, const dim3 &dimsB)
{
    dim3 threads(tile, tile), grid(dimsB.x / threads.x, dimsA.y / threads.y);
    if (tile == 8)
        matmul<8><<<grid, threads>>>(C, A, B, dimsA.x, dimsB.x);
    else
        matmul<16><<<grid, threads>>>(C, A, B, dimsA.x, dimsB.x);
}
int main()
{
    int tile = 8;
    multiply(0, 0, 0, tile, dim3(320, 320), dim3(640, 320));
}'
run 0 verify "$work/members.cu"
says "32 x 16 x 1 blocks of 8 x 8 x 1 threads for 128 x 256 x 64 (from the launch in line 13)"
says "16 x 8 x 1 blocks of 16 x 16 x 1 threads for 128 x 256 x 64 (from the launch in line 15)"

# A parameter of the launching function has the value of its call, with the sizes of the problem.
write called 'void start(float *C, float *A, float *B, int wide, int deep, int side, int high)
{
    matmul<16><<<dim3(wide / side, high), dim3(side, side)>>>(C, A, B, deep, wide);
}
int main()
{
    int width = 4096, depth = 4096, M = 4096, side = 16;
    start(0, 0, 0, width, depth, side, M / side);
}'
run 0 verify "$work/called.cu" --args wA=K,wB=N
says "16 x 8 x 1 blocks of 16 x 16 x 1 threads for 128 x 256 x 64"

# The CUDA runtime is asked about the GPU of --arch: sm_86 has 40 multiprocessors here, sm_80 has 108.
cat > "$work/stride.cu" << 'EOF'
__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += A[i / N * K + k] * B[k * N + i % N];
        C[i] = sum;
    }
}
void run(const float *A, const float *B, float *C, int M, int N, int K)
{
    int gpu, count = 0;
    cudaGetDevice(&gpu);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu);
    matmul<<<2 * count, 128>>>(A, B, C, M, N, K);
}
EOF
run 0 verify "$work/stride.cu"
says "80 x 1 x 1 blocks of 128 x 1 x 1 threads"
run 0 verify "$work/stride.cu" --arch sm_80
says "216 x 1 x 1 blocks of 128 x 1 x 1 threads"
sed -e 's/int gpu, count = 0;/cudaDeviceProp gpu;/' -e 's/cudaGetDevice(&gpu);/cudaGetDeviceProperties(\&gpu, 0);/' \
    -e '/GetAttribute/d' -e 's/2 \* count/gpu.multiProcessorCount/' "$work/stride.cu" > "$work/properties.cu"
run 0 verify "$work/properties.cu"
says "40 x 1 x 1 blocks of 128 x 1 x 1 threads"
sed 's/cudaDeviceGetAttribute(&count.*/scanf("%d", \&count);/' "$work/stride.cu" > "$work/asked.cu"
run 2 verify "$work/asked.cu"
says "the launch in line 15 depends on count, which scanf sets in line 14, so its value is unknown before the program runs; give --block and --grid"
run 0 verify "$work/asked.cu" --grid 7 --block 128

# A grid of 0 blocks is refused, with its expression.
run 2 verify "$work/stride.cu" --grid 1/2 --block 128
says 'the grid "1/2" is 0 in dimension x for M = N = K = 4096; give --block and --grid'
sed 's/2 \* count/0 * count/' "$work/stride.cu" > "$work/none.cu"
run 2 verify "$work/none.cu"
says 'the grid "0 * count" is 0 in dimension x'

# A constant of the file that the kernel uses as a size is never replaced.
sed -e 's/, int M, int N, int K)/, int M, int K)/' -e '1i const int N = 2048;' "$work/stride.cu" > "$work/constant.cu"
run 2 verify "$work/constant.cu"
says "the kernel uses N = 2048 of line 1 as a size; rung verify runs sizes up to 512"

# A counter is an array of zeros for each launch; --args names others.
cat > "$work/counter.cu" << 'EOF'
__global__ void matmul(const float *A, const float *B, float *C, int N, unsigned *row_counter)
{
    __shared__ unsigned row;
    for (;;) {
        if (threadIdx.x == 0)
            row = atomicAdd(row_counter, 1u);
        __syncthreads();
        unsigned mine = row;
        __syncthreads();
        if (mine >= N)
            return;
        for (int col = threadIdx.x; col < N; col += blockDim.x) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += A[mine * N + k] * B[k * N + col];
            C[mine * N + col] = sum;
        }
    }
}
EOF
run 0 verify "$work/counter.cu" --grid 8 --block 64
says "row_counter = zeros"
sed 's/row_counter/next/g' "$work/counter.cu" > "$work/next.cu"
run 0 verify "$work/next.cu" --grid 8 --block 64 --args 'A=A,B=B,C=C,next=u32[1]:zero'

# Messages: a kernel that the file lacks, and one that it does not launch.
run 2 verify "$work/stride.cu" --kernel nothing
says 'has no kernel "nothing"; its kernels are: matmul'
sed '/<<</d' "$work/called.cu" > "$work/unlaunched.cu"
run 2 verify "$work/unlaunched.cu" --template 16
says "no launch of matmul<16> was recognised; give --block and --grid"

# The error of the compiler precedes notes about headers that were not found.
sed '1i #include "missing_header.h"' "$work/stride.cu" > "$work/missing.cu"
run 2 verify "$work/missing.cu" --grid nowhere/16 --block 128
says 'identifier "nowhere" is undefined'
exit $bad
