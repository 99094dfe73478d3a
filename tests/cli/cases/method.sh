# SPDX-License-Identifier: Apache-2.0
# How times are taken: series that can be paired, cold caches, other inputs, the machine's conditions; and
# rung peak. Numbers are looked at for being there and for fitting each other.
bench() {
    rung bench --device cpu --kernels 04,07 --sizes 48 --threads 1 --budget 0.1 --json "$@" 2> said.txt > out.json
    echo "exit $?"
}
bench
echo "series:"
jq -c '[.results[] | .series_of >= 1 and (.series_ns | length >= 1 and length <= 200) and (.series_ns | map(. > 0) | all)
        and .worst_ns >= .median_ns and .outliers >= 0 and .outliers <= .samples] | all' out.json
grep -c '"series_ns": \[[0-9,]*\],$' out.json
echo "conditions:"
jq -c '[.conditions | (.before.load >= 0), (.after.load >= 0), (.warnings | type), (.steal_percent | type == "number" or type == "null")]' out.json
jq -c '[.inputs, has("seed"), has("pairing"), (.results[] | [.cache, .inputs, has("sets")])]' out.json
jq -r '.conditions.warnings[]' out.json | sed 's/^/rung: warning: /' | diff - said.txt && echo "warnings are told on standard error"

echo "cold:"
bench --cache cold
jq -c '[.results[] | [.verified, .cache, .sets > 2, .cold_bytes > .sets * 3 * 48 * 48 * 4]]' out.json
rung bench --device cpu --kernels 07 --sizes 48 --batch 3 --epilogue bias_col,relu --threads 1 --budget 0.05 --cache cold --json 2> /dev/null |
    jq -c '.results[] | [.verified, .cache, .batch]'
echo "normal:"
for type in f32 i8 bf16:f32; do
    bench --inputs normal --seed 7 --dtype $type
    jq -c '[.inputs, .seed, (.results[] | [.verified, .inputs])]' out.json
done
bench --inputs normal
jq -c '.seed > 1000000000' out.json
bench --inputs normal --cache cold
jq -c '[.results[] | [.verified, .inputs, .cache]]' out.json
rung bench --device cpu --kernels 04 --sizes 16 --threads 1 --budget 0.02 --cache cold --inputs normal 2> /dev/null |
    sed -n '3p' | sed -E 's/peak [0-9]+/peak N/'

try rung bench --device cpu --cache warm
try rung bench --device cpu --inputs zeros
try rung bench --device cpu --seed 3
try rung bench --device cpu --inputs normal --seed x
try rung bench --device cpu --cache cold --calls
try rung bench --device cpu --cache cold --kernels rung_gemm --sizes 16
try rung bench --device cpu --baseline-json x.json

echo "peak:"
rung peak --device cpu --threads 2 --json 2> /dev/null > out.json; echo "exit $?"
jq -c '[.schema, (.machine | has("processor")), (.results | map(.why_not == "" and .samples > 0 and .spread >= 0
        and ((.gflops == null) != (.gb_s == null)) and ((.bytes == 0) == (.level == "registers"))) | all),
        (.results | map(.threads) | unique), ([.results[] | select(.ceiling == "fma f32") | .threads]),
        ([.results[] | select(.ceiling == "copy" and .threads == 1) | .level]),
        ([.results[] | select(.level == "memory" and .gb_s > 0)] | length)]' out.json
try rung peak --device cpu --threads 0
try rung peak --device gpu
