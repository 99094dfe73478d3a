#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# explain_requests.sh - what rung explain and rung verify accept for plain CUDA files: batches count as often as they are
# multiplied, sizes at which a kernel is wrong are refused, old architectures use the loop of a newer one, and options that
# would have no effect are errors.
set -u
. "$(dirname "$0")/common.sh"
predicted() { sed -n 's/^Predicted: \([0-9]*\) GFLOPS.*/\1/p' "$work/out"; }

# The same block, with and without a batch: about the same speed.
cat > "$work/one.cu" << 'EOF'
__global__ void one(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (row >= M || col >= N)
        return;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
// rung: grid=(N+15)/16,(M+15)/16 block=16,16
EOF
sed -e 's/one(/many(/' -e 's/int K)/int K, int batch, int strideA, int strideB, int strideC)/' \
    -e 's/    float sum = 0;/    A += blockIdx.z * strideA, B += blockIdx.z * strideB, C += blockIdx.z * strideC;\n&/' \
    -e 's|grid=(N+15)/16,(M+15)/16|&,batch|' "$work/one.cu" > "$work/many.cu"
run 0 explain "$work/one.cu" --m 1024
one=$(predicted)
lacks "batch of"
run 0 explain "$work/many.cu" --m 1024
says "batch of 2"
many=$(predicted)
[ $((many * 100)) -gt $((one * 90)) ] && [ $((many * 100)) -lt $((one * 115)) ] ||
    fail "a batch is predicted with $many GFLOPS, one product with $one"

# sm_61 cannot be disassembled, so the loop of sm_75 stands for it.
run 0 explain "$work/one.cu" --m 1024 --arch sm_61
says "hottest loop, compiled for sm_75"
says "Predicted:"

# Correct only for multiples of 16: other sizes are not explained.
grep -v "if (row >= M\|return;" "$work/one.cu" | sed 's|(N+15)/16,(M+15)/16|N/16,M/16|' > "$work/whole.cu"
run 0 explain "$work/whole.cu" --m 1024
run 1 explain "$work/whole.cu" --m 1000
says "one is wrong for sizes such as 1000 x 1000 x 1000; run rung verify"

# Options that would have no effect.
for option in "--m 7" "--dtype f64" "--suite full" "--device opencl" "--alpha 3" "--params TILE=3"; do
    # shellcheck disable=SC2086 # an option and its value
    run 2 verify "$work/one.cu" $option
    says "${option%% *} does not apply to a CUDA file with a __global__ function"
done
run 2 explain "$work/one.cu" --dtype f64
says "--dtype does not apply"
exit $bad
