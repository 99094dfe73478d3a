# SPDX-License-Identifier: Apache-2.0
# Results of rung compare on made-up files: one run per side, several that were interleaved, several that were not,
# rows that one side alone has, rows that only their parameters tell apart, no time, files that are not results.

# row KERNEL M FACTOR SEED [PARAMS]: one run of 40 rounds of a millisecond times FACTOR, with about 1 % of noise
row() {
    jq -nc --arg kernel "$1" --argjson m "$2" --argjson factor "$3" --argjson seed "$4" --arg params "${5:-}" '
        [range(40) | 1000000 * $factor * (1 + ((. * 37 + $seed * 11) % 23 - 11) / 1000) | floor] as $series |
        {device: "cpu", kernel: $kernel, params: $params, dtype: "f32", m: $m, n: $m, k: $m, batch: 1, compute: "strict",
         epilogue: "", threads: 1, verified: true, why_not: "", time: "cpu", median_ns: ($series | sort | .[20]),
         min_ns: 1, ci95_ns: 1, gflops: 1, mode: "-", probe: "fma f32", probe_gflops: 100, series_of: 1, series_ns: $series}'
}
# runs KERNEL M FACTOR SEED [COUNT [NOISE [PARAMS]]]: COUNT (10) runs, with NOISE (10) thousandths of noise
runs() {
    row "$1" "$2" "$3" "$4" "${7:-}" | jq -c --argjson count "${5:-10}" --argjson noise "${6:-10}" --argjson factor "$3" --argjson seed "$4" '
        del(.series_ns, .series_of) | .runs = $count |
        .runs_ns = [range($count) | 1000000 * $factor * (1 + $noise * ((. * 37 + $seed * 11) % 23 - 11) / 11000) | floor]'
}
# file [PAIRING] < rows
file() {
    jq -cs --arg pairing "${1:-}" '{schema: "rung-bench/1", pairing: $pairing, results: .}'
}
# results FILES...: in one line, and the exit code
results() {
    rung compare --json "$@" > out.json
    echo "exit $?"
    jq -c '[.interleaved, .slower, .faster, .same, .cannot_tell,
            [.rows[] | [.kernel, .m, .result, (.change | if . then . * 100 | round + 0 else . end), .old_runs, .new_runs, .note, .why_not]],
            [.only_old[].kernel], [.only_new[].kernel]]' out.json
    jq -e 'all(.rows[] | select(.change); (.new_ns / .old_ns - 1 - .change | fabs) < 1e-9 and
               ((.result == "slower") == (.low > 0 and .change > 0.02)) and ((.result == "faster") == (.high < 0 and .change < -0.02)))' \
        out.json > /dev/null || echo "columns contradict each other: $(cat out.json)"
}

echo "one run per side, interleaved or not, twice as slow or not:"
row 04 64 1 1 | file > old.json
row 04 64 2 3 | file > new.json
results old.json new.json
row 04 64 1 1 | file run1 > old.json
row 04 64 2 3 | file run1 > new.json
results old.json new.json

echo "one run per file, three files per side, interleaved:"
for i in 1 2 3; do
    row 04 64 $i $i | file run$i > old$i.json
    row 04 64 $((2 * i)) $((i + 3)) | file run$i > new$i.json
done
results old1.json old2.json old3.json -- new1.json new2.json new3.json
echo "files of other pairs are not interleaved:"
results old1.json old2.json old3.json -- new3.json new1.json new2.json

echo "ten runs, interleaved:"
{ runs 04 64 1 1; runs 07 64 1 2; } | file run1 > old.json
{ runs 04 64 1 1; runs 07 64 1 3; } | file run1 > same.json
{ runs 04 64 1.05 3; runs 07 64 1.05 4; } | file run1 > slower.json
{ runs 04 64 0.95 3; runs 07 64 0.95 4; } | file run1 > faster.json
{ runs 04 64 1.05 3; runs 07 64 0.95 4; } | file run1 > mixed.json
{ runs 04 64 1.019 1; runs 07 64 1.019 2; } | file run1 > little.json
{ runs 04 64 1.05 3 10 300; runs 07 64 1 4 10 300; } | file run1 > noisy.json
{ runs 04 64 1.5 3 2; runs 07 64 1.5 3 3; } | file run1 > few.json
{ runs 07 64 1.05 4; runs 10 64 1 1; } | file run1 > others.json
for new in same slower faster mixed little noisy few others; do echo "$new:"; results old.json $new.json; done

echo "not interleaved: 5 % and 20 % cannot be told, 60 % can; nor that where the peak changed as much:"
runs 04 64 1 1 | file > old.json
for factor in 1.05 1.2 1.6; do
    runs 04 64 $factor 3 | file > new.json
    results old.json new.json
done
runs 04 64 1.6 3 | jq -c '.probe_gflops = 60' | file > new.json
results old.json new.json

echo "several parameters:"
{ runs 04 64 1 1 10 10 TILE=8; runs 04 64 2 2 10 10 TILE=16; } | file run1 > old.json
{ runs 04 64 2 2 10 10 TILE=16; runs 04 64 1 1 10 10 TILE=8; } | file run1 > new.json
results old.json new.json
try rung compare old.json new.json
echo "one, of another value:"
runs 04 64 1 1 10 10 TILE=8 | file run1 > old.json
runs 04 64 1 1 10 10 TILE=16 | file run1 > new.json
results old.json new.json
echo "cold is not hot, and one thread is not two:"
{ runs 04 64 1 1; runs 07 64 1 1; } | file run1 > old.json
{ runs 04 64 1 3 | jq -c '.cache = "cold"'; runs 07 64 1 3 | jq -c '.threads = 2'; } | file run1 > new.json
results old.json new.json
echo "gaps, other rounds, no rounds, wrong, another clock:"
row 04 64 1 1 | file run1 > old.json
row 04 64 1.5 3 | jq -c '.series_ns[3] = null | .series_ns[7] = null' | file run1 > new.json
results old.json new.json
row 04 64 1.5 3 | jq -c '.series_of = 2' | file run1 > new.json
results old.json new.json
row 04 64 1.5 3 | jq -c 'del(.series_ns)' | file run1 > new.json
results old.json new.json
row 04 64 1 3 | jq -c '.verified = false | .why_not = "WRONG"' | file run1 > new.json
results old.json new.json
row 04 64 1 3 | jq -c '.time = "wall"' | file run1 > new.json
results old.json new.json

{ runs 04 64 1 1; runs 07 64 1 2; } | file run1 > old.json
try rung compare old.json mixed.json
try rung compare old.json others.json
{ runs 04 64 1 3 | jq -c '.verified = false | .why_not = "WRONG"'; row 07 64 1 4; } | file > same.json
try rung compare old.json same.json
head -c 700 old.json > cut.json
try rung compare old.json cut.json
try rung compare cut.json old.json
try rung compare old.json
try rung compare old.json mixed.json others.json
try rung compare missing.json old.json
echo '{"schema": "rung-tune/1"}' > other.json
try rung compare other.json old.json
