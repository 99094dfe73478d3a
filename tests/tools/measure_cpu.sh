#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/summarise-cpu by numbers made up for it, the block it makes in a page, and tools/measure-cpu
# from end to end on small shapes.
set -u
cd "$RUNG_SOURCE" || exit 1
command -v jq > /dev/null || { echo "jq is not here"; exit 77; }
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # see tests/conform/cpu_peers.sh
bad=0
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir -p "$work/results/xeon-cpu"
folder=$work/results/xeon-cpu

# Four shapes: half as fast as MKL, twice as fast, one where MKL is in doubt, and one where it was
# too seldom seen in the mode that ours was in. Geometric means of two and of four.
jq -n '
    def row(kernel; shape; ns): {kernel: kernel, m: shape, n: shape, k: shape, verified: true, doubt: "", mode: "-",
        median_ns: ns, fast_median_ns: 0, fast_samples: 0, slow_median_ns: 0, slow_samples: 0,
        percent_of_best_peer: null, percent_of_probe: null, gflops: 1, best_peer: "00_vendor:mkl"};
    def fast(ns; samples): .mode = "fast" | .fast_median_ns = ns | .fast_samples = samples;
    {machine: {processor: "A processor", title: "A processor", platform: "this process", driver: "-", version: "1",
               time: "2026-01-01"},
     results: [
        row("00_vendor:mkl"; 64; 100), (row("10_new"; 64; 200) | .percent_of_best_peer = 50 | .percent_of_probe = 40),
        row("00_vendor:mkl"; 65; 400), (row("10_new"; 65; 200) | .percent_of_best_peer = 200 | .percent_of_probe = 90),
        (row("00_vendor:mkl"; 66; 1000) | .doubt = "old"),
        (row("10_new"; 66; 10) | .percent_of_best_peer = 25 | .percent_of_probe = 10),
        (row("00_vendor:mkl"; 67; 1000) | fast(1000; 4)),
        (row("10_new"; 67; 10) | fast(10; 9) | .percent_of_best_peer = 100 | .percent_of_probe = 40),
        (row("10_new"; 68; 1) | .verified = false)]}' > "$folder/whole.json"
# One of them in the file for large ones.
jq '.results |= map(select(.m != 65))' "$folder/whole.json" > "$folder/cpu_f32_1.json"
jq '.results |= map(select(.m == 65))' "$folder/whole.json" > "$folder/cpu_f32_1.large.json"
cat > "$work/expected" <<'END'
measured  kernel  shapes  over MKL  over the best  furthest behind  there   of the peak  at best
f32_1     10_new  4       1.00 x    0.71 x         66               0.25 x  35 %         90 %
END
tools/summarise-cpu "$folder" > "$work/out" || { echo "exit $?"; bad=1; }
diff -u "$work/expected" "$work/out" || bad=1

tools/summarise-cpu --shapes --markdown "$folder" > "$work/out" || { echo "exit $?"; bad=1; }
grep -qxF '| `f32_1` | 65 | `10_new` | - | 1 | 90 % | 2.00 x | 2.00 x | mkl |' "$work/out" || { cat "$work/out"; bad=1; }
[ "$(wc -l < "$work/out")" -eq 6 ] || { echo "a shape too many, or too few"; cat "$work/out"; bad=1; }

page=$work/page.md
printf '%s\n' '<!-- numbers: cpu -->' '<!-- end -->' > "$page"
RESULTS=$work/results tools/write-numbers "$page" > /dev/null || { echo "write-numbers exits with $?"; bad=1; }
grep -qxF '| `f32_1` | `10_new` | 4 | 1.00 x | 0.71 x | 66 | 0.25 x | 35 % | 90 % |' "$page" || { cat "$page"; bad=1; }
sed -i 's/0.71/0.91/' "$page"
RESULTS=$work/results tools/write-numbers --check "$page" > /dev/null && { echo "a changed digit is not seen"; bad=1; }

# What is no result.
echo '{"results": [{"kernel": "10_new"}]}' > "$folder/cpu_f32_1.json"
tools/summarise-cpu "$folder" > /dev/null 2> "$work/out" && { echo "half a row counts"; bad=1; }
grep -q "is no result of rung bench" "$work/out" || { cat "$work/out"; bad=1; }
tools/summarise-cpu "$work" > /dev/null 2>&1 && { echo "an empty folder counts"; bad=1; }

# Packed and unpacked: in the mode that both were seen in, and what is not verified both ways is an error.
jq -n '
    def row(kernel; packed; ns): {kernel: kernel, packed: packed, m: 64, n: 32, k: 8, verified: true, median_ns: ns,
        fast_median_ns: 0, fast_samples: 0, slow_median_ns: 0, slow_samples: 0};
    def slow(ns): .slow_median_ns = ns | .slow_samples = 9;
    {machine: {processor: "A processor", title: "A processor", platform: "this process", driver: "-", version: "1",
               time: "2026-01-01"},
     results: [(row("12_new"; false; 100) | slow(300)), (row("12_new:packed"; true; 200) | slow(200))]}' \
    > "$folder/packed_bf16_1.json"
printf '%s\n' '<!-- numbers: packed -->' '<!-- end -->' > "$page"
RESULTS=$work/results tools/write-numbers "$page" > /dev/null || { echo "write-numbers exits with $?"; bad=1; }
grep -qxF '| `bf16_1` | 64 x 32 x 8 | `12_new` | 109.2 | `12_new:packed` | 163.8 | 1.50 x |' "$page" || { cat "$page"; bad=1; }
jq '.results[0].verified = false' "$folder/packed_bf16_1.json" > "$work/out"
cp "$work/out" "$folder/packed_bf16_1.json"
tools/summarise-packed "$folder" > /dev/null 2> "$work/out" && { echo "a row that is not verified counts"; bad=1; }
grep -q "is not verified" "$work/out" || { cat "$work/out"; bad=1; }
tools/measure-packed --quick "$work/packed" > "$work/out" 2>&1 ||
    { echo "measure-packed exits with $?"; cat "$work/out"; bad=1; }
grep -q '^f32_1 *48 *10_pipeline' "$work/packed/packed.txt" || { cat "$work/packed/packed.txt"; bad=1; }

tools/measure-cpu --quick --kernels 01 "$work/measured" > "$work/out" 2>&1 ||
    { echo "measure-cpu exits with $?"; cat "$work/out"; bad=1; }
for name in f32_1 f32_2 f64_1 bf16x3_1 bf16_1 i8_1; do
    jq -e '.results | length > 2 and ([.[] | select(.kernel == "01_naive" and .verified)] | length) == 2' \
        "$work/measured/cpu_$name.json" > /dev/null || { echo "cpu_$name.json lacks rows"; bad=1; }
    [ -s "$work/measured/cpu_$name.large.json" ] || { echo "cpu_$name.large.json is not there"; bad=1; }
    grep -q "^$name " "$work/measured/summary.txt" || { echo "the summary lacks $name"; bad=1; }
done
grep -rnF "$RUNG_SOURCE" "$work/measured" && { echo "folders of this machine are told"; bad=1; }
exit $bad
