#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# several_launches.sh - rung verify and rung explain on files that leave a choice: several launches of one kernel, template
# types that no call names, and several comment lines.
set -u
. "$(dirname "$0")/common.sh"

kernel='template <int T> __global__ void matmul(const float *A, const float *B, float *C, int N)
{
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < N; k++)
        sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;
}'

# Each configuration is verified; launches with the same one count once.
cat > "$work/several.cu" << EOF
$kernel
void run(const float *A, const float *B, float *C, int N)
{
    dim3 block(16, 16), grid(N / 16, N / 16);
    matmul<16><<<grid, block>>>(A, B, C, N);
    matmul<16><<<grid, block>>>(A, B, C, N);
    matmul<8><<<dim3(N / 8, N / 8), dim3(8, 8)>>>(A, B, C, N);
    grid = dim3(N / 16, (N + 15) / 16);
    matmul<16><<<grid, block>>>(A, B, C, N);
    matmul<8><<<dim3(N / 8, N / 8), dim3(8, 8)>>>(A, B + 8 * N, C, N);
}
EOF
run 0 verify "$work/several.cu"
says "(from the launches in lines 12, 13)"
says "16 x 16 x 1 blocks of 8 x 8 x 1 threads for 128 x 128 x 128 (from the launch in line 14)"
says "(from the launch in line 16)"
says "not run the launch in line 17: parts of the matrices are multiplied"
[ "$(grep -c '^matmul' "$work/out")" -eq 3 ] || fail "there are not three configurations"
run 0 explain "$work/several.cu"
says "these are the numbers of the launches in lines 12, 13; the launches in lines 14, 16, 17 differ"
run 0 verify "$work/several.cu" --json
python3 - "$work/out" << 'EOF' || fail "the JSON has other launches"
import json, sys
kernels = json.load(open(sys.argv[1]))["kernels"]
sys.exit([(k["kernel"], k["launch_lines"]) for k in kernels] !=
         [("matmul<16>", "12, 13"), ("matmul<8>", "14"), ("matmul<16>", "16")])
EOF

# A later launch that is wrong is found: half of the rows are not computed.
sed '14s/dim3(N \/ 8, N \/ 8)/dim3(N \/ 8, N \/ 16)/' "$work/several.cu" > "$work/half.cu"
run 1 verify "$work/half.cu"
says "16 x 8 x 1 blocks of 8 x 8 x 1 threads for 128 x 128 x 128 (from the launch in line 14)"
says "elements of C are never written, in rows 64 to 127 and columns 0 to 127"

# If the first launch cannot be evaluated, the next one is used.
sed '12s/grid/unknown(grid)/' "$work/several.cu" > "$work/unknown.cu"
run 0 verify "$work/unknown.cu"
says "(from the launch in line 13) not run the launch in line 12 could not be evaluated"
run 0 explain "$work/unknown.cu"
says "these are the numbers of the launch in line 13; the launches in lines 12, 14, 16, 17 differ"
# --grid and --block replace all configurations; the template arguments differ still.
run 0 verify "$work/several.cu" --template 8 --block 8,8 --grid N/8,N/8
[ "$(grep -c '^matmul' "$work/out")" -eq 1 ] || fail "the launch that is given is not the only one"

# A template type that the file does not name is float, and the output says so.
cat > "$work/typed.cu" << 'EOF'
template <typename T> __global__ void matmul(const T *A, const T *B, T *C, int N)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    T sum = 0;
    for (int k = 0; k < N; k++)
        sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;
}
template <typename T> void run(const T *A, const T *B, T *C, int N)
{
    matmul<T><<<dim3(N / 16, N / 16), dim3(16, 16), 16 * sizeof(T)>>>(A, B, C, N);
}
EOF
run 0 verify "$work/typed.cu"
says "assumes T = float, because the file does not name the type; choose another with --template"
says "64 bytes of dynamic shared memory"
run 0 explain "$work/typed.cu"
says "assumes T = float"
run 0 verify "$work/typed.cu" --template double
lacks "assumes"
says "128 bytes of dynamic shared memory"
{ cat "$work/typed.cu"; echo 'int main() { run<double>(nullptr, nullptr, nullptr, 512); }'; } > "$work/called.cu"
run 0 verify "$work/called.cu"
lacks "assumes"
says "128 bytes of dynamic shared memory"
sed 's/matmul<T><<</matmul<<</' "$work/typed.cu" > "$work/deduced.cu"
run 0 verify "$work/deduced.cu"
says "assumes T = float, because"

# Comment lines: each kernel has its own, and args= has the meaning of --args.
cat > "$work/lines.cu" << 'EOF'
// rung: kernel=first grid=n/16,n/16 block=16,16
// rung: kernel=second grid=n/8,n/8 block=8,8 args=p=C,q=A,r=B
__global__ void first(const float *A, const float *B, float *C, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
__global__ void second(float *p, float *q, float *r, int n)
{
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += q[row * n + k] * r[k * n + col];
    p[row * n + col] = sum;
}
__global__ void third(const float *A, const float *B, float *C, int n) { C[0] = A[0] + B[0]; }
EOF
run 0 verify "$work/lines.cu"
says "blocks of 16 x 16 x 1 threads for 128 x 128 x 128 (from the comment in line 1)"
says "blocks of 8 x 8 x 1 threads for 128 x 128 x 128 (from the comment in line 2)"
says "p = C, q = A, r = B"
lacks "third"
run 2 check "$work/lines.cu"
says "args= is for rung verify and rung explain; rung check takes every argument as NAME=VALUE"
sed '2s/block=8,8/block=/' "$work/lines.cu" > "$work/broken.cu"
run 2 verify "$work/broken.cu"
says "line 2: block= has no value"
exit $bad
