#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clean.sh KERNEL [PART] - right, and not a line in Oclgrind's log, on every edge of the tiles of
# preset tiny (of 12_matrix on some), on a sample of them in each type, in batches, with
# epilogues and with k cut, and with copies that arrive late where the kernel has them. Of all
# that every PART-th problem.
set -u
kernel=$1 part=${2:-1}
. "$(dirname "$0")/oclgrind.sh"
about=$("$RUNG" kernels "$kernel" --device opencl --json | jq '.kernels[0]')
mode=()
type=f32 other_types=$(jq -r '.dtypes | sub("^f32,"; "")' <<< "$about") many=50 some=30
# A matrix engine multiplies fewer types, and tf32 for f32.
if jq -e '.engine != "none"' <<< "$about" > /dev/null; then
    type=f16 other_types=f16:f32,bf16,tf32,i8 many=20 some=12
fi

# check CASES EVERY OPTION...: at least so many cases, every so many of a suite, where PART is 1.
check() {
    local cases=$(($1 > part ? $1 / part : 1)) every=$(($2 * part))
    shift 2
    verify_checked --kernels "$kernel" --every $every "${mode[@]}" "$@"
    echo "$* --every $every $(jq -c '[.cases, .wrong, .skipped]' "$json")"
    [ $code -eq 0 ] || { cat "$json"; exit 1; }
    jq -e --argjson cases "$cases" '.cases >= $cases and .skipped == 0' "$json" > /dev/null || { cat "$json"; exit 1; }
    [ ! -s "$log" ] || { head -n 40 "$log"; exit 1; }
}
# A quantized B has another type than A.
if ! jq -e '.dtypes | test("^(.*,)?f32,")' <<< "$about" > /dev/null; then
    type='f32*q4_0' other_types='f32*q8_0,f32*i8,f32*u4,f16*f8e4m3,bf16*f4e2m1:f32,f32*f8e5m2,f32*f16' many=20 some=12
    jq -e '.engine == "none"' <<< "$about" > /dev/null || mode=(--compute "$(jq -r .compute <<< "$about")")
fi
# 12_matrix in software takes seconds a problem: some of each kind. With STAGES=2, as on
# sm_75, the second tile already comes through registers within the loop.
if jq -e '.params | any(.name == "EMULATED")' <<< "$about" > /dev/null; then
    check 6 6 --params tiny --suite edges --dtype f16
    check 8 31 --params tiny --suite edges --dtype "$other_types"
    check 4 22 --params tiny --suite extras --dtype f16
    check 8 36 --params tiny --suite extras --dtype "$other_types"
    uninitialized=0 check 3 3 --params tiny --suite scattered --dtype f16
    check 3 16 --params tiny,CHECKED=1 --suite edges --dtype f16
    check 3 16 --params tiny,STAGES=2,EMULATED=75 --suite edges --dtype f16
    [ "$part" -eq 1 ] || exit 0
    check 2 34 --params tiny,CHECKED=1 --suite edges --dtype tf32
    check 2 32 --params tiny,STAGES=2,EMULATED=75 --suite edges --dtype i8
    check 4 2 --params tiny,STAGES=2,EMULATED=75 --suite tile --dtype f16,i8
    exit
fi
check 30 1 --params tiny --suite edges --dtype $type
check $many 6 --params tiny --suite edges --dtype "$other_types"
check 30 1 --params tiny --suite extras --dtype $type
check $some 8 --params tiny --suite extras --dtype "$other_types"
if jq -e '.abilities | test("offsets")' <<< "$about" > /dev/null; then
    # Oclgrind takes a buffer for unwritten but for the bytes of its last write, and the
    # places of A's, B's and C's items are three writes to one buffer.
    uninitialized=0 check 6 1 --params tiny --suite scattered --dtype $type
fi
if jq -e '.params | any(.name == "CHECKED")' <<< "$about" > /dev/null; then
    check 30 1 --params tiny,CHECKED=1 --suite edges --dtype $type
fi
