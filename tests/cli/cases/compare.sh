# SPDX-License-Identifier: Apache-2.0
# Verdicts on made-up results: nothing changed, 5 % slower, 5 % faster, all at once, rows that one side alone has,
# rows that only their parameters tell apart, no series, no time, files that are none.

# row KERNEL M FACTOR SEED [PARAMS]: 40 rounds of a millisecond times FACTOR, with about 1 % of noise
row() {
    jq -nc --arg kernel "$1" --argjson m "$2" --argjson factor "$3" --argjson seed "$4" --arg params "${5:-}" '
        [range(40) | 1000000 * $factor * (1 + ((. * 37 + $seed * 11) % 23 - 11) / 1000) | floor] as $series |
        {device: "cpu", kernel: $kernel, params: $params, dtype: "f32", m: $m, n: $m, k: $m, batch: 1, compute: "strict",
         epilogue: "", threads: 1, verified: true, why_not: "", time: "cpu", median_ns: ($series | sort | .[20]),
         min_ns: 1, ci95_ns: 1, gflops: 1, mode: "-", probe: "fma f32", probe_gflops: 100, series_of: 1, series_ns: $series}'
}
# file [PAIRING] < rows
file() {
    jq -cs --arg pairing "${1:-}" '{schema: "rung-bench/1", pairing: $pairing, results: .}'
}
# verdicts OLD NEW: in one line, and the exit code
verdicts() {
    rung compare "$1" "$2" --json > out.json
    echo "exit $?"
    jq -c '[.interleaved, .slower, .faster, [.rows[] | [.kernel, .m, .verdict, (.shift | if . then . * 100 | round + 0 else . end), .pairs, .note, .why_not]],
            [.only_old[].kernel], [.only_new[].kernel]]' out.json
}

{ row 04 64 1 1; row 07 64 1 2; } | file run1 > old.json
{ row 04 64 1 3; row 07 64 1 4; } | file run1 > same.json
{ row 04 64 1.05 3; row 07 64 1.05 4; } | file run1 > slower.json
{ row 04 64 0.95 3; row 07 64 0.95 4; } | file run1 > faster.json
{ row 04 64 1.05 3; row 07 64 0.95 4; } | file run1 > mixed.json
{ row 04 64 1.01 3; row 07 64 1.01 4; } | file run1 > little.json
{ row 07 64 1.05 4; row 10 64 1 1; } | file run1 > others.json
for new in same slower faster mixed little others; do echo "$new:"; verdicts old.json $new.json; done

echo "a machine that was twice as slow in another run, and its probe too:"
row 04 64 1 1 | file > old.json
row 04 64 2 3 | jq -c '.probe_gflops = 50' | file > new.json
verdicts old.json new.json
echo "the same in one run:"
row 04 64 1 1 | file run1 > old.json
row 04 64 2 3 | jq -c '.probe_gflops = 50' | file run1 > new.json
verdicts old.json new.json

echo "several parameters:"
{ row 04 64 1 1 TILE=8; row 04 64 2 2 TILE=16; } | file run1 > old.json
{ row 04 64 2 3 TILE=16; row 04 64 1 4 TILE=8; } | file run1 > new.json
verdicts old.json new.json
echo "one, of another value:"
row 04 64 1 1 TILE=8 | file run1 > old.json
row 04 64 1 3 TILE=16 | file run1 > new.json
verdicts old.json new.json
echo "cold is not hot:"
row 04 64 1 1 | file run1 > old.json
row 04 64 1 3 | jq -c '.cache = "cold"' | file run1 > new.json
verdicts old.json new.json
echo "few rounds, gaps, none:"
row 04 64 1 1 | file run1 > old.json
row 04 64 1.5 3 | jq -c '.series_ns = .series_ns[:6]' | file run1 > new.json
verdicts old.json new.json
row 04 64 1.5 3 | jq -c '.series_ns[3] = null | .series_ns[7] = null' | file run1 > new.json
verdicts old.json new.json
row 04 64 1.5 3 | jq -c 'del(.series_ns)' | file run1 > new.json
verdicts old.json new.json
row 04 64 1.5 3 | jq -c '.series_of = 2' | file run1 > new.json
verdicts old.json new.json
row 04 64 1 3 | jq -c '.verified = false | .why_not = "WRONG"' | file run1 > new.json
verdicts old.json new.json
row 04 64 1 3 | jq -c '.time = "wall"' | file run1 > new.json
verdicts old.json new.json

{ row 04 64 1 1; row 07 64 1 2; } | file run1 > old.json
try rung compare old.json mixed.json
try rung compare old.json others.json
{ row 04 64 1 3 | jq -c '.verified = false | .why_not = "WRONG"'; row 07 64 1 4 | jq -c '.series_ns = .series_ns[:6]'; } | file > same.json
try rung compare old.json same.json
head -c 700 old.json > cut.json
try rung compare old.json cut.json
try rung compare cut.json old.json
try rung compare old.json
try rung compare missing.json old.json
echo '{"schema": "rung-tune/1"}' > other.json
try rung compare other.json old.json
