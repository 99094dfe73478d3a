#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that multiply on a device with memory of its own: two of them, on OpenCL, in the context that the options name.
source "$(dirname "$0")/common.sh"
[ -x "$RUNG_BUILD/rung-cluster" ] || exit 77
"$RUNG" devices | grep -q '^opencl:0' || exit 77
RUNG_VERBOSE=1 limit=100 launch own 2 "$RUNG" bench --cluster --device opencl:0 --sizes 48 --dtype f32 --budget 0.01 --block 16 \
    --json > "$work/two.json" 2> "$work/said" || { cat "$work/said"; fail "two ranks on OpenCL fail"; }
jq -e '[.results[] | select(.multiply == "rung")] | map(.layout) == ["cyclic", "grid"] and
    all(.[]; .verified and .grid == "1x2x1")' "$work/two.json" > /dev/null || { cat "$work/two.json"; fail "rows are other"; }
[ "$(grep -c '^rung: opencl:0 .* 48x24x48 f32 ' "$work/said")" -ge 4 ] || { cat "$work/said"; fail "nothing ran on OpenCL"; }
! grep -q '^rung: cpu.* 48x24x48 f32 ' "$work/said" || fail "something ran on the CPU"
