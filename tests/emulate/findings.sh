#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# findings.sh - rung emulate reports what the kernels of faulty.cu do wrong, by source line, as text and as JSON.
. "$(dirname "$0")/nvcc_programs.sh"
command -v jq > /dev/null || { echo "jq is not installed"; exit 77; }
line() { grep -n "$1" "$here/faulty.cu" | cut -d: -f1; }
build faulty faulty.cu -lineinfo -arch=compute_75

# Without --check, the program runs as on a GPU, and its exit status is that of the command.
expect 3 "^no error" "$rung" emulate "$work/faulty"
! grep -q finding "$work/output" || wrong "a finding without --check: $(cat "$work/output")"
expect 1 "faulty.cu:$(line 'race:'): race\|faulty.cu:$(($(line 'race:') - 1)): race" "$rung" emulate --check "$work/faulty"
expect 1 "faulty.cu:$(line 'uninitialized'): uninitialized in copy: " "$rung" emulate --check "$work/faulty"
expect 1 "found in 2 launches" "$rung" emulate --check "$work/faulty"
expect 1 "fix: Put __syncthreads()" "$rung" emulate --check "$work/faulty"
expect 1 "an illegal memory access" "$rung" emulate --check "$work/faulty" --bounds

"$rung" emulate --check --json "$work/faulty" --bounds > "$work/json" 2> "$work/errors"
[ "$(jq -r '.schema, .exit_status, (.findings | length > 2)' "$work/json" | paste -sd' ')" = "rung-emulate/1 3 true" ] ||
    wrong "JSON: $(cat "$work/json")"
[ "$(jq -r '.findings[] | select(.kind == "out-of-bounds") | "\(.line) \(.count) \(.fix)"' "$work/json" | cut -d' ' -f1,2)" = \
    "$(line 'out of bounds: i') 1" ] || wrong "out-of-bounds: $(cat "$work/json")"
grep -q "no error" "$work/errors" || wrong "the program's output is not on standard error"
"$rung" emulate --check -o "$work/file.json" "$work/faulty" > "$work/out" 2> "$work/errors"
[ "$(jq '.findings | length' "$work/file.json")" = 3 ] || wrong "-o FILE: $(cat "$work/file.json")"
echo "findings: $failures wrong"
exit $((failures > 0))
