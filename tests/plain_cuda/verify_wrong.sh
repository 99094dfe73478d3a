#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verify_wrong.sh - rung verify and rung explain on a textbook kernel: right, with planted bugs, and with hostile input.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-$RUNG_SOURCE/build/tools}/python LC_ALL=C
bad=0
fail() { echo "$*"; cat "$work/out"; bad=1; }

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

# run EXPECTED-CODE ARGUMENT... - the output is in $work/out
run() {
    local expected=$1 code=0
    shift
    "$RUNG" "$@" > "$work/out" 2>&1 || code=$?
    [ "$code" -eq "$expected" ] || fail "rung $*: exit code $code, expected $expected"
}
# says TEXT - the output contains the text, however it is wrapped
says() { tr -s ' \n' '  ' < "$work/out" | grep -qF -- "$1" || fail "the output does not say: $1"; }
# change NAME SED-EXPRESSION - a copy of the kernel with a change
change() { sed "$2" "$work/matmul.cu" > "$work/$1"; cmp -s "$work/matmul.cu" "$work/$1" && fail "$1 is not changed"; }
launch=(--block 16,16 --grid '(N+15)/16,(N+15)/16')

run 0 verify "$work/matmul.cu" "${launch[@]}"
says "correct only when N is a multiple of 16"
says "12 of 12 right"
run 0 explain "$work/matmul.cu" "${launch[@]}"
says "As compiled for sm_86"
says "256 threads per block"
run 2 verify "$work/matmul.cu"
says "give --block and --grid"

change race.cu '10s/__syncthreads();//'
run 1 verify "$work/race.cu" "${launch[@]}" --json
grep -q '"kind": "race"' "$work/out" || fail "the race is not found"
grep -q '"other_line": 12' "$work/out" || fail "the race has not both lines"
run 1 verify "$work/race.cu" "${launch[@]}"
says "race.cu:8: race"
says "__syncthreads()"
change wrong.cu '12s/Bs\[k\]/Bs[k ^ 1]/'
run 1 verify "$work/wrong.cu" "${launch[@]}"
says "no matrix product"
change bounds.cu '8s/A\[row/A[N * N + row/'
run 1 verify "$work/bounds.cu" "${launch[@]}"
says "out-of-bounds"
change broken.cu '6s/float sum/flot sum/'
run 2 verify "$work/broken.cu" "${launch[@]}"
says 'broken.cu(6)'

# Hostile input ends within its limits. The test of the compiler has macro bombs and templates without end.
change endless.cu '7s/t < N \/ TILE/true/'
run 1 verify "$work/endless.cu" "${launch[@]}" --time-limit 0.1
says "infinite-loop"
change system.cu '1s/^/#include "\/etc\/passwd"\n/'
run 2 verify "$work/system.cu" "${launch[@]}"
grep -q 'root:' "$work/out" && fail "a system file is in the output"
exit $bad
