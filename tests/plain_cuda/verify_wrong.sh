#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verify_wrong.sh - rung verify and rung explain on a textbook kernel: right, with planted bugs, and with hostile input.
set -u
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/textbook_kernel.sh"

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
run 1 verify "$work/endless.cu" --block 16,2 --grid 8,8 --time-limit 20
says "infinite-loop"
change system.cu '1s/^/#include "\/etc\/passwd"\n/'
run 2 verify "$work/system.cu" "${launch[@]}"
grep -q 'root:' "$work/out" && fail "a system file is in the output"
exit $bad
