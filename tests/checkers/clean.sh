#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean.sh KERNEL - right, and not a line in Oclgrind's log, on every edge of the
# tiles of preset tiny, on a sample of them in each type, in batches, with epilogues and
# with k cut, and with copies that arrive late where the kernel has them.
set -u
kernel=$1
. "$(dirname "$0")/oclgrind.sh"
about=$("$RUNG" kernels "$kernel" --device opencl --json | jq '.kernels[0]')
type=f32 other_types=$(jq -r '.dtypes | sub("^f32,"; "")' <<< "$about")
# A matrix engine multiplies no f32, and tf32 for it.
if jq -e '.engine != "none"' <<< "$about" > /dev/null; then type=f16 other_types=f16:f32,bf16,tf32,i8; fi

# check CASES OPTION...: at least so many cases.
check() {
    local cases=$1
    shift
    verify_checked --kernels "$kernel" "$@"
    echo "$* $(jq -c '[.cases, .wrong, .skipped]' "$json")"
    [ $code -eq 0 ] || { cat "$json"; exit 1; }
    jq -e --argjson cases "$cases" '.cases >= $cases and .skipped == 0' "$json" > /dev/null || { cat "$json"; exit 1; }
    [ ! -s "$log" ] || { head -n 40 "$log"; exit 1; }
}
check 30 --params tiny --suite edges --dtype $type
check 20 --params tiny --suite edges --every 6 --dtype "$other_types"
check 30 --params tiny --suite extras --dtype $type
check 12 --params tiny --suite extras --every 8 --dtype "$other_types"
if jq -e '.abilities | test("offsets")' <<< "$about" > /dev/null; then
    # Oclgrind takes a buffer for unwritten but for the bytes of its last write, and the
    # places of A's, B's and C's items are three writes to one buffer.
    uninitialized=0 check 6 --params tiny --suite scattered --dtype $type
fi
if jq -e '.params | any(.name == "CHECKED")' <<< "$about" > /dev/null; then
    check 30 --params tiny,CHECKED=1 --suite edges --dtype $type
fi
if jq -e '.params | any(.name == "EMULATED")' <<< "$about" > /dev/null; then
    check 30 --params tiny,EMULATED=75 --suite edges --dtype $type
    check 4 --params tiny,EMULATED=75 --suite edges --every 6 --dtype i8
fi
