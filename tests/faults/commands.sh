#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# When memory ends, a command says so, and does not report an unknown device. Output that lacks something comes with a sentence, and
# rung verify still runs the other problems. tools/fault-points runs all points of more commands.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# run_failing N WORD...: runs a command whose N-th call fails, with its output in $work/out and $work/text.
run_failing() {
    LD_PRELOAD=$RUNG_BUILD/tests/faults/libfault_calls.so RUNG_FAULTS_AT=$1 "$RUNG" "${@:2}" > "$work/out" 2> "$work/text"
}

count=0
for n in $(seq 1 60); do
    run_failing "$n" kernels && continue
    grep -q 'out of memory' "$work/text" || { echo "call $n of rung kernels failed: $(cat "$work/text")"; exit 1; }
    count=$((count + 1))
done
[ $count -ge 3 ] || { echo "only $count calls failed"; exit 1; }

count=0
"$RUNG" kernels 07 > "$work/expected"
for n in $(seq 2 7 400); do
    run_failing "$n" kernels 07
    [ -s "$work/text" ] && { count=$((count + 1)); continue; }
    cmp -s "$work/out" "$work/expected" || { echo "call $n of rung kernels 07 failed, and a part is missing without a sentence"; exit 1; }
done
[ $count -ge 3 ] || { echo "only $count calls of rung kernels 07 failed"; exit 1; }

count=0
for n in $(seq 80 4 400); do
    run_failing "$n" verify --device cpu --kernels 02 --m 9 --threads 1 --json
    code=$?
    [ $code -eq 0 ] || [ -s "$work/text" ] || { echo "call $n of rung verify: exit code $code without a sentence"; exit 1; }
    grep -q '"skipped": [1-9]' "$work/out" || continue
    grep -q '"cases": 4,' "$work/out" || { echo "call $n failed, and rung verify did not run all problems"; exit 1; }
    count=$((count + 1))
done
[ $count -ge 1 ] || { echo "no problem of rung verify met a failure"; exit 1; }

# A submission loses no points because this machine has no memory for the grading. Without NVRTC nothing is graded.
"$RUNG" tasks gemm_naive > /dev/null 2>&1 || exit 0
cp "$RUNG_SOURCE/tasks/gemm_naive/solution.cu" "$work/solution.cu"
count=0
for n in $(seq 190 240) 300 340 380 420 460 500; do # the last ones with NVRTC, on the emulator
    VIRTUAL_ENV= HOME=/dev/null run_failing "$n" grade gemm_naive "$work/solution.cu"
    [ $? -ne 1 ] || { echo "call $n of rung grade failed, and the submission has lost points: $(cat "$work/out")"; exit 1; }
    grep -q 'out of memory' "$work/text" && count=$((count + 1))
done
[ $count -ge 1 ] || { echo "no call of rung grade met a lack of memory"; exit 1; }
sed 's,^// rung: .*,// rung: grid=out of memory block=cannot be read,' "$work/solution.cu" > "$work/hostile.cu"
"$RUNG" grade gemm_naive "$work/hostile.cu" > /dev/null 2>&1
[ $? -eq 1 ] || { echo "words of a submission were taken for a lack of memory"; exit 1; }
