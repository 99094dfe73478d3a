#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean.sh KERNEL - right, and not a line in Oclgrind's log, on every edge of the tiles of
# preset tiny (of 12_matrix on some), on a sample of them in each type, in batches, with
# epilogues and with k cut, and with copies that arrive late where the kernel has them.
set -u
kernel=$1
. "$(dirname "$0")/oclgrind.sh"
about=$("$RUNG" kernels "$kernel" --device opencl --json | jq '.kernels[0]')
type=f32 other_types=$(jq -r '.dtypes | sub("^f32,"; "")' <<< "$about") many=50 some=30
# A matrix engine multiplies fewer types, and tf32 for f32.
if jq -e '.engine != "none"' <<< "$about" > /dev/null; then
    type=f16 other_types=f16:f32,bf16,tf32,i8 many=20 some=12
fi

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
# 12_matrix in software takes seconds a problem: some of each kind. With STAGES=2, as on
# sm_75, the second tile already comes through registers within the loop.
if jq -e '.params | any(.name == "EMULATED")' <<< "$about" > /dev/null; then
    check 6 --params tiny --suite edges --every 6 --dtype f16
    check 8 --params tiny --suite edges --every 31 --dtype "$other_types"
    check 4 --params tiny --suite extras --every 22 --dtype f16
    check 8 --params tiny --suite extras --every 36 --dtype "$other_types"
    uninitialized=0 check 3 --params tiny --suite scattered --every 3 --dtype f16
    check 3 --params tiny,CHECKED=1 --suite edges --every 16 --dtype f16
    check 2 --params tiny,CHECKED=1 --suite edges --every 34 --dtype tf32
    check 3 --params tiny,STAGES=2,EMULATED=75 --suite edges --every 16 --dtype f16
    check 2 --params tiny,STAGES=2,EMULATED=75 --suite edges --every 32 --dtype i8
    check 4 --params tiny,STAGES=2,EMULATED=75 --suite tile --every 2 --dtype f16,i8
    exit
fi
check 30 --params tiny --suite edges --dtype $type
check $many --params tiny --suite edges --every 6 --dtype "$other_types"
check 30 --params tiny --suite extras --dtype $type
check $some --params tiny --suite extras --every 8 --dtype "$other_types"
if jq -e '.abilities | test("offsets")' <<< "$about" > /dev/null; then
    # Oclgrind takes a buffer for unwritten but for the bytes of its last write, and the
    # places of A's, B's and C's items are three writes to one buffer.
    uninitialized=0 check 6 --params tiny --suite scattered --dtype $type
fi
if jq -e '.params | any(.name == "CHECKED")' <<< "$about" > /dev/null; then
    check 30 --params tiny,CHECKED=1 --suite edges --dtype $type
fi
