#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs `rung verify` on a device and holds its JSON to what it must show:
#   verify.sh DEVICE KERNELS CASES [OPTION...]
# every kernel of the ladder but those for matrix engines and a quantized B, or of --kernels, took part, at least so many kernels and
# cases, none wrong, none skipped.
set -u
device=$1 kernels=$2 cases=$3
shift 3
out=$(mktemp) && trap 'rm -f "$out"' EXIT

"$RUNG" verify --device "$device" --json "$@" > "$out"
code=$?
if [ $code -eq 77 ]; then exit 77; fi
jq -c '[.cases, .wrong, .skipped]' "$out"
[ $code -eq 0 ] || { cat "$out"; echo "rung verify exited with $code"; exit 1; }

list=
for ((i = 1; i < $#; i++)); do [ "${!i}" = --kernels ] && { i=$((i + 1)); list=${!i}; }; done
ladder=$("$RUNG" kernels --device "$device" --json | jq -r --arg list "$list" '
    ($list | split(",") | map(select(. != "rung_gemm") | tonumber)) as $numbers |
    [.kernels[] | select(.number > 0 and
        if $list == "" then .engine == "none" and (.dtypes | test("^f32,")) else .number | IN($numbers[]) end) | .kernel] |
    sort | join(" ")')
jq -e --arg ladder "$ladder" --argjson kernels "$kernels" --argjson cases "$cases" '
    ([.by_kernel[] | .kernel] | unique | map(select(. != "rung_gemm"))) as $ran |
    .schema == "rung-verify/1" and .wrong == 0 and .skipped == 0 and .cases >= $cases
    and (.by_kernel | map(.cases) | add) == .cases
    and ($ladder | split(" ")) - $ran == [] and ($ran | length) >= $kernels
    and (.failures | length) == 0' "$out" > /dev/null || { cat "$out"; echo "the JSON does not show it"; exit 1; }
