#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh TARGET [SECONDS] - builds a fuzz target with clang in build/fuzz and lets libFuzzer work on it
# for so long, from the corpus here and what earlier runs found. The summary goes to standard
# output: results/fuzz/TARGET.txt is one. A crash leaves its input in build/fuzz/crashes.
set -eu
target=$1 seconds=${2:-60}
source=$(realpath "$(dirname "$0")/../..")
build=$source/build/fuzz
cmake -S "$source" -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRUNG_FUZZ=ON \
      -DRUNG_IMAGES=OFF -DRUNG_WERROR=ON > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target "fuzz_$target" -j2 >> "$build.log" 2>&1 || { tail -40 "$build.log"; exit 1; }
mkdir -p "$build/crashes" "$build/found/$target"
program=$(find "$build" -name "fuzz_$target" -type f -perm -u+x)
code=0 commit=$(git -C "$source" log -1 --format=%h 2> /dev/null || echo unknown)
TIMEFORMAT='%U %S'
{ time RUNG_TUNING=off ASAN_OPTIONS=allocator_may_return_null=1 "$program" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -dict="$source/tests/fuzz/$target.dict" -print_final_stats=1 -artifact_prefix="$build/crashes/" \
    "$build/found/$target" "$source/tests/fuzz/corpus/$target" > "$build/$target.log" 2>&1 || code=$?; } \
    2> "$build/$target.time"

echo "target:   tests/fuzz/$target.c"
echo "commit:   $commit"
echo "compiler: $(clang --version | head -1), fuzzer, address and undefined sanitizers"
echo "seconds:  $seconds, one job, $(awk '{ printf "%.0f", $1 + $2 }' "$build/$target.time") of processor time"
grep -E '^#[0-9]+.*(INITED|DONE)' "$build/$target.log" || true
grep -E '^stat::|ERROR|SUMMARY|^line [0-9]+: not' "$build/$target.log" || true
[ $code -eq 0 ] && echo "result:   no crash, no leak, no undefined behaviour, nothing taken that must be refused" ||
    echo "result:   FAILED, exit $code; see $build/$target.log"
exit $code
