#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verify_edges.sh - bugs that show only at sizes that are not multiples of the tile are findings with a line. Sizes that a
# kernel does not take, because it has no code for partial tiles, are a rule about its sizes.
set -u
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guarded_kernel.sh"

# bug NAME KIND LINE SED-EXPRESSION - text, JSON and SARIF have the finding
bug() {
    change "$1.cu" "$4"
    run 1 verify "$work/$1.cu" --json --sarif "$work/$1.sarif"
    tr -d ' \n' < "$work/out" | grep -q "\"kind\":\"$2\",\"file\":\"[^\"]*\",\"kernel\":\"[^\"]*\",\"line\":$3," ||
        fail "$1: no finding $2 in line $3"
    grep -q "\"ruleId\": \"$2\"" "$work/$1.sarif" || fail "$1: SARIF has no $2"
}

run 0 verify "$work/matmul.cu"
says "sizes any; tested up to 129 x 257 x 65"
says "findings none"

bug store_row out-of-bounds 17 '16s/i < M/i <= M/'
run 1 verify "$work/store_row.cu"
says "store_row.cu:17: out-of-bounds"
says "First seen with M = 129"
bug load_column out-of-bounds 9 '9s/ka < K/ka <= K/'
bug uninitialized uninitialized 13 '9s/a\[.*;/if (i < M \&\& ka < K) a[threadIdx.y][threadIdx.x] = A[i * K + ka];/'
bug divergent barrier 14 '14s/__/if (i < M) __/'
run 1 verify "$work/divergent.cu"
lacks "_Z4gemm"
bug early_return barrier 11 '6s/$/ if (i >= M || j >= N) return;/'
bug wide_loop out-of-bounds 13 '12s/k < EDGE/k <= EDGE/'
# A missing barrier is one race per line, without a second finding for the same reads.
bug no_barrier race 9 '11s/__syncthreads();//'
grep -q '"kind": "uninitialized"' "$work/out" && fail "no_barrier: a second finding for the same bug"

# Rules about sizes: the loop drops a partial tile; the grid drops it; whole tiles reach beyond the matrices.
change whole_tiles.cu '7s/k0 < K/k0 + EDGE <= K/'
run 0 verify "$work/whole_tiles.cu"
says "correct only when K is a multiple of 16"
change floor.cu '21s/(N + EDGE - 1)/N/'
run 0 verify "$work/floor.cu"
says "correct only when N is a multiple of 16"
says "128 x 257 x 64: C[0, 256] still has its old value"
change no_guards.cu '9s/i < M && ka < K ? \(.*\) : 0/\1/; 10s/kb < K && j < N ? \(.*\) : 0/\1/; 16d'
run 0 verify "$work/no_guards.cu"
says "correct only when M, N and K are multiples of 16"
says "out-of-bounds"
lacks "race"
# A vector of A is aligned only if K is a multiple of its elements: the reason has its line.
cat > "$work/vector.cu" << 'FILE'
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, k = 0;
    if (row >= M || col >= N) return;
    float s = 0;
    for (; k + 1 < K; k += 2) {
        float2 a = *(const float2 *)(A + row * K + k);
        s += a.x * B[k * N + col] + a.y * B[(k + 1) * N + col];
    }
    C[row * N + col] = k < K ? s + A[row * K + k] * B[k * N + col] : s;
}
void launch(float *A, float *B, float *C, int M, int N, int K)
{
    mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
FILE
run 0 verify "$work/vector.cu"
says "correct only when K is a multiple of 2"
says "128 x 256 x 65, line 7, misaligned"

# JSON has the parameters, the launch and the sizes that fail.
run 0 verify "$work/vector.cu" --json
python3 - "$work/out" << 'PYTHON' || fail "the JSON lacks fields"
import json, sys
kernel = json.load(open(sys.argv[1]))["kernels"][0]
assert {"name": "row", "value": "row"} not in kernel["takes"] and {"name": "K", "value": "K"} in kernel["takes"]
assert kernel["launch"]["grid"] == [16, 8, 1] and kernel["launch"]["block"] == [16, 16, 1]
assert kernel["launch"]["size"] == [128, 256, 64] and kernel["launch"]["batch"] == 1
failing = kernel["failing_sizes"][0]
assert failing["size"] == [128, 256, 65] and failing["kind"] == "misaligned" and failing["line"] == 7
assert kernel["largest_size"] == [129, 257, 66] and kernel["complete"] is True
PYTHON
exit $bad
