#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# launch_forms.sh - rung verify finds launches without <<<>>>, and those of kernels that variables hold. The output may be known
# by atomic operations only.
set -u
. "$(dirname "$0")/common.sh"

# write NAME HOST-CODE
write() {
    cat > "$work/$1.cu" << EOF
template <int T> __global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    if (row >= M || col >= N)
        return;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
void run(float *A, float *B, float *C, int M, int N, int K)
{
    const int side = 8;
    dim3 block(side, side), grid((N + side - 1) / side, (M + side - 1) / side);
    $2
}
EOF
}
launch="32 x 16 x 1 blocks of 8 x 8 x 1 threads for 128 x 256 x 64"
arguments='void *args[] = {(void *)&A, &B, &C, &M, &N, &K};'
write runtime "$arguments cudaLaunchKernel((void *)tiled<8>, grid, block, args, 0, 0);"
write cooperative "$arguments cudaLaunchCooperativeKernel((const void *)&tiled<side>, grid, block, args);"
write cast "$arguments cudaLaunchKernel(reinterpret_cast<const void *>(tiled<8>), grid, block, args, 0, nullptr);"
write list 'cudaLaunchKernel((void *)tiled<8>, grid, block, (void *[]){&A, &B, &C, &M, &N, &K}, 0, 0);'
write held "$arguments const void *kernel = (const void *)tiled<8>; cudaLaunchKernel(kernel, grid, block, args, 0, 0);"
write automatic 'auto kernel = tiled<8>; kernel<<<grid, block>>>(A, B, C, M, N, K);'
write pointer 'void (*kernel)(const float *, const float *, float *, int, int, int) = &tiled<8>;
    kernel<<<grid, block>>>(A, B, C, M, N, K);'
for form in runtime cooperative cast list held automatic pointer; do
    run 0 verify "$work/$form.cu"
    says "$launch (from the launch in line"
    says "takes A, B, C, M, N, K computes C = A * B"
done
# The addresses are those of the kernel's parameters: M and N are exchanged here.
write names 'void *args[] = {&A, &B, &C, &N, &M, &K}; cudaLaunchKernel((void *)tiled<8>, grid, block, args, 0, 0);'
run 1 verify "$work/names.cu"
says "The result is right only when M = N, although the sizes are parameters."

# One launch per kernel that is assigned to the variable, or passed to the launching function.
write two 'auto kernel = tiled<8>; if (M > 1000) kernel = tiled<4>; kernel<<<grid, block>>>(A, B, C, M, N, K);'
run 1 verify "$work/two.cu"
says "tiled<8>, two.cu:1"
says "tiled<4>, two.cu:1"
write passed 'tiled<8><<<grid, block>>>(A, B, C, M, N, K);
}
template <class Kernel> void start(Kernel kernel, float *A, float *B, float *C, int M, int N, int K, int tile)
{
    dim3 block(tile, tile), grid((N + tile - 1) / tile, (M + tile - 1) / tile);
    kernel<<<grid, block>>>(A, B, C, M, N, K);
}
int main()
{
    start(tiled<4>, 0, 0, 0, 100, 100, 100, 4);
    start(tiled<16>, 0, 0, 0, 100, 100, 100, 16);'
run 0 verify "$work/passed.cu"
says "64 x 32 x 1 blocks of 4 x 4 x 1 threads for 128 x 256 x 64"
says "16 x 8 x 1 blocks of 16 x 16 x 1 threads for 128 x 256 x 64"
lacks "assumes"
sed 's/template <class Kernel> void start(Kernel kernel,/void start(void (*kernel)(const float *, const float *, float *, int, int, int),/' \
    "$work/passed.cu" > "$work/passed_pointer.cu"
run 0 verify "$work/passed_pointer.cu"
says "64 x 32 x 1 blocks of 4 x 4 x 1 threads for 128 x 256 x 64"

# A cooperative launch may wait for the whole grid.
cat > "$work/grid.cu" << 'EOF'
#include <cooperative_groups.h>
__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x)
        C[i] = 0;
    cooperative_groups::this_grid().sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x)
        for (int k = 0; k < K; k++)
            C[i] += A[i / N * K + k] * B[k * N + i % N];
}
void run(float *A, float *B, float *C, int M, int N, int K)
{
    void *args[] = {&A, &B, &C, &M, &N, &K};
    cudaLaunchCooperativeKernel((void *)matmul, dim3(4), dim3(64), args, 0, 0);
}
EOF
run 0 verify "$work/grid.cu"
says "4 x 1 x 1 blocks of 64 x 1 x 1 threads"

# The output is the array of the atomic operations or of the stores, whatever its name and place are.
cat > "$work/atomic.cu" << 'EOF'
__global__ void splitk(float *first, float *second, float *third, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N)
        return;
    float sum = 0;
    for (int k = blockIdx.z; k < K; k += gridDim.z)
        sum += second[row * K + k] * third[k * N + col];
    atomicAdd(&first[row * N + col], sum);
}
// rung: grid=(N+15)/16,(M+15)/16,4 block=16,16
EOF
run 0 verify "$work/atomic.cu"
says "first = C, second = A, third = B"
says "C = A * B + C"
sed 's/&first\[row \* N + col\]/first + row * N + col/' "$work/atomic.cu" > "$work/sum.cu"
run 0 verify "$work/sum.cu"
says "first = C, second = A, third = B"
sed -e 's/atomicAdd(&first\[row \* N + col\], sum)/first[row * N + col] = sum/' -e 's/,4 block/ block/' "$work/atomic.cu" > "$work/store.cu"
run 0 verify "$work/store.cu"
says "first = C, second = A, third = B"
exit $bad
