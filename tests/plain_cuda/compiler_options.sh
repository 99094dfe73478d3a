#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compiler_options.sh - --arch, -D and -I of rung verify, rung explain and rung check on CUDA files.
set -u
. "$(dirname "$0")/common.sh"

# The file compiles only with -D TILE=... and -I: TILE and STEP are not defined otherwise.
mkdir "$work/headers" "$work/more"
echo '#define STEP TILE' > "$work/headers/step.h"
echo '#define FIRST 0' > "$work/more/first.h"
cat > "$work/matmul.cu" << 'EOF'
#include "first.h"
#include "step.h"
#if __CUDA_ARCH__ == 750
#define WRONG 1
#else
#define WRONG 0
#endif
__global__ void matmul(const float *A, const float *B, float *C, int N)
{
    int row = blockIdx.y * STEP + threadIdx.y, col = blockIdx.x * STEP + threadIdx.x;
    float sum = WRONG;
    for (int k = FIRST; k < N; k++)
        sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;
}
void run(const float *A, const float *B, float *C, int N)
{
    matmul<<<dim3(N / STEP, N / STEP), dim3(STEP, STEP)>>>(A, B, C, N);
}
EOF
folders=(-I "$work/headers" "-I$work/more")

# The values of -D reach the kernel and the launch, attached or not; options of both kinds may be repeated.
run 0 verify "$work/matmul.cu" "${folders[@]}" -D TILE=16 -DUNUSED
says "blocks of 16 x 16 x 1 threads"
says "correct only when N is a multiple of 16"
run 0 verify "$work/matmul.cu" "${folders[@]}" -DUNUSED -DTILE=8
says "correct only when N is a multiple of 8"
run 0 verify "$work/matmul.cu" --define-macro=TILE=8 --include-path "$work/headers" --include-path="$work/more"
says "correct only when N is a multiple of 8"
run 0 explain "$work/matmul.cu" "${folders[@]}" -DTILE=8
says "64 threads per block"
launch='grid=2,2 block=STEP,STEP A=f32[N*N] B=f32[N*N] C=f32[N*N]:none N=2*TILE'
run 0 check "$work/matmul.cu" "${folders[@]}" -DTILE=8 --launch "$launch"
says "2 x 2 x 1 blocks of 8 x 8 x 1 threads"
run 2 verify "$work/matmul.cu" "${folders[@]}"
says 'identifier "TILE" is undefined'
run 2 verify "$work/matmul.cu" -DTILE=8 -I "$work/more"
says 'step.h (line 2) was not found'
# A macro may have the name of a size.
cat > "$work/fixed.cu" << 'EOF'
__global__ void matmul(const float *A, const float *B, float *C)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * B[k * 256 + col];
    C[row * 256 + col] = sum;
}
EOF
run 0 verify "$work/fixed.cu" -D K=64 --block 16,16 --grid N/16,M/16
says "K is 64"

# The architecture is that of the compiler and of the emulated GPU.
for arch in sm_75 75; do
    run 1 verify "$work/matmul.cu" "${folders[@]}" -DTILE=16 --arch $arch
    says "no matrix product"
done
for arch in sm_80 80 sm_90a; do
    run 0 verify "$work/matmul.cu" "${folders[@]}" -DTILE=16 --arch $arch
    says "12 of 12 right"
done
run 0 explain "$work/matmul.cu" "${folders[@]}" -DTILE=16 --arch 80
says "As compiled for sm_80"
run 0 check "$work/matmul.cu" "${folders[@]}" -DTILE=8 --launch "$launch" --arch 90

# Invalid values are named, with what is valid.
run 2 verify "$work/matmul.cu" --arch sm_40
says '--arch is "sm_40"; use sm_50 to sm_121'
run 2 check "$work/matmul.cu" --arch sm_86a --launch "$launch"
says '--arch is "sm_86a"; use sm_50 to sm_121'
run 2 explain "$work/matmul.cu" --arch 85
says 'unknown architecture sm_85; --arch takes one of: sm_60'
run 2 verify "$work/matmul.cu" "${folders[@]}" -DTILE=8 --arch 85
says 'does not compile for sm_85; it compiles for'
for command in verify explain check; do
    run 2 $command "$work/matmul.cu" -I "$work/missing"
    says "rung $command: -I $work/missing: there is no such folder"
    run 2 $command "$work/matmul.cu" -I "$work/matmul.cu"
    says "is not a folder"
    run 2 $command "$work/matmul.cu" -D 2=3
    says "-D 2=3 does not define a macro; write -D NAME or -D NAME=VALUE"
done
run 2 verify "$work/matmul.cu" -D
says "--define-macro needs a value (NAME[=VALUE])"
run 2 verify "$work/matmul.cu" $(seq -f '-DX%g' 65)
says "at most 64 such options are possible"

# The options are not ignored where they have no meaning.
echo '// no kernel' > "$work/empty.cu"
run 2 verify "$work/empty.cu" --arch sm_80
says "--arch applies only to a CUDA file with a __global__ function, not to $work/empty.cu"
run 2 explain 04 -DTILE=8
says "-D applies only to a CUDA file with a __global__ function, not to 04"
run 2 check "$RUNG_SOURCE/tests/check/add.ptx" -I "$work"
says "is already compiled; -D and -I apply to CUDA files only"
exit $bad
