#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# troubles.sh - rung emulate counts launches, names kernels as the source does, names the cause of a wild pointer, reports launches
# that exceed a limit, ends a program that does not end, and explains names that are no programs.
. "$(dirname "$0")/nvcc_programs.sh"
build troubles troubles.cu -lineinfo -arch=compute_75
program=$work/troubles

# A line that reads and writes out of bounds in one launch is not found in two launches.
expect 1 "out-of-bounds in space::add_one: write of 4 bytes at byte offset 256 of an array in global memory" \
    "$rung" emulate --check "$program" bounds
! grep -q "found in 2 launches" "$work/output" || wrong "one launch counts as two: $(cat "$work/output")"
expect 1 "memory of the host" "$rung" emulate --check "$program" host
expect 1 "limit in space::add_one: a launch of 1 x 1 x 1 blocks of 2000 x 1 x 1 threads" "$rung" emulate --check "$program" limit
expect 0 "no error" "$rung" emulate "$program" limit
! grep -q "limit in" "$work/output" || wrong "a limit is reported without --check: $(cat "$work/output")"

# A kernel that does not end.
expect 1 "ran longer than 1 s (--time-limit) and was stopped" "$rung" emulate --time-limit 1 "$program" endless
expect 0 "no error" "$rung" emulate --time-limit 60 "$program"
expect 2 "time-limit must be a number" "$rung" emulate --time-limit soon "$program"
"$rung" emulate "$program" endless > "$work/output" 2>&1 &
child=$!
sleep 2
kill -TERM $child 2> /dev/null
wait $child
status=$?
if [ $status != 130 ] || ! grep -q "rung: interrupted" "$work/output"; then
    wrong "after SIGTERM: status $status, $(cat "$work/output")"
fi

# Names.
cd "$work" || exit 1
expect 2 "use ./troubles" "$rung" emulate troubles
expect 2 "./nothing does not exist" "$rung" emulate ./nothing
expect 2 "nothing is not in the folders of PATH" "$rung" emulate nothing
echo text > plain
expect 2 "plain is not executable" "$rung" emulate ./plain

# Libraries of NVIDIA with kernels of their own.
printf 'int cublasCreate_v2(void **x) { return x == 0; }\n' | gcc -shared -fPIC -x c - -Wl,-soname,libcublas.so.13 -o libcublas.so
cp libcublas.so libcublas.so.13
printf 'int cublasCreate_v2(void **x); int main() { void *x; return cublasCreate_v2(&x); }\n' |
    gcc -x c - -L. -lcublas -Wl,-rpath,"$work" -o uses_cublas
expect 0 "the program uses libcublas.so, whose kernels are machine code" "$rung" emulate ./uses_cublas
expect 0 "replace these calls by kernels of your own" "$rung" emulate ./uses_cublas
printf 'int cublasCreate_v2(void **x) { return x == 0; }\nint main() { void *x; return cublasCreate_v2(&x); }\n' |
    gcc -x c - -o has_cublas
expect 0 "the program uses libcublas_static.a, whose kernels are machine code" "$rung" emulate ./has_cublas
echo "troubles: $failures wrong"
exit $((failures > 0))
