#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean.sh KERNEL - right, and not a line in Oclgrind's log, on every edge of the
# tiles of preset tiny, on a sample of them in each type, in batches, with epilogues and
# with k cut, and with copies that arrive late where the kernel has them.
set -u
kernel=$1
. "$(dirname "$0")/oclgrind.sh"
about=$("$RUNG" kernels "$kernel" --device opencl --json | jq '.kernels[0]')
other_types=$(jq -r '.dtypes | sub("^f32,"; "")' <<< "$about")

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
check 30 --params tiny --suite edges
check 50 --params tiny --suite edges --every 6 --dtype "$other_types"
check 30 --params tiny --suite extras
check 30 --params tiny --suite extras --every 8 --dtype "$other_types"
if jq -e '.abilities | test("offsets")' <<< "$about" > /dev/null; then
    # Oclgrind takes a buffer for unwritten but for the bytes of its last write, and the
    # places of A's, B's and C's items are three writes to one buffer.
    uninitialized=0 check 6 --params tiny --suite scattered
fi
if jq -e '.params | any(.name == "CHECKED")' <<< "$about" > /dev/null; then
    check 30 --params tiny,CHECKED=1 --suite edges
fi
