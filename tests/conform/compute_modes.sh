#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compute modes, with two kernels of a caller's that compute in less than strict: they run
# where that will do, are refused where more is asked for, and are found to be wrong if
# they do not say what they do.
set -u
kernels=$(cd "$(dirname "$0")" && pwd)/kernels
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0

# verify CODE WHAT EXPRESSION FILE MODE: rung verify exits so, and its JSON shows that.
verify() {
    local want=$1 what=$2 shows=$3 file=$4 mode=$5 code
    "$RUNG" verify --device opencl --kernels "$file" --compute "$mode" --suite quick --json > "$work/out"
    code=$?
    [ $code -eq "$want" ] && jq -e --arg mode "$mode" "$shows" "$work/out" > /dev/null && return
    echo "$(basename "$file") in $mode: expected $what, exit $want; got exit $code:"
    cat "$work/out"
    bad=1
}

right() {
    verify 0 "right results" '.compute == $mode and .wrong == 0 and .skipped == 0 and .cases > 100' "$@"
}

# What is refused once is not tried again, so few cases are told; all of them are skipped.
refused() {
    local less
    less=$(basename "$1" .cu)
    verify 77 "a refusal that names both" ".compute == \$mode and .wrong == 0 and .cases > 0
        and .skipped == .cases
        and (.by_kernel[0].why_skipped | contains(\"computes in $less, which is less precise than \" + \$mode))" "$@"
}

wrong() {
    verify 1 "wrong results" '.compute == $mode and .wrong > 0 and .skipped == 0 and .failures[0].ran' "$@"
}

"$RUNG" verify --device opencl --kernels "$kernels/tf32.cu" --compute tf32 --m 8 > "$work/there"
[ $? -eq 77 ] && { cat "$work/there"; exit 77; }

right "$kernels/tf32.cu" tf32
refused "$kernels/tf32.cu" bf16x3
refused "$kernels/tf32.cu" strict
right "$kernels/bf16x3.cu" tf32
right "$kernels/bf16x3.cu" bf16x3
refused "$kernels/bf16x3.cu" strict

# Silent about it. Of bf16x3 it is the infinities that show it, which come out as NaN: the
# rest differs from strict by no more than another order of the sum may.
for name in tf32 bf16x3; do
    grep -q "^// computes: $name\$" "$kernels/$name.cu" ||
        { echo "$name.cu does not say what it computes"; bad=1; }
    sed '/^\/\/ computes:/d' "$kernels/$name.cu" > "$work/$name.cu"
    wrong "$work/$name.cu" strict
done
wrong "$work/tf32.cu" bf16x3

# A strict kernel will do for any mode, and the log says what was taken.
RUNG_VERBOSE=1 "$RUNG" verify --device opencl --kernels 01,07 --params tiny --compute tf32 --suite edges \
    --json > "$work/out" 2> "$work/log"
code=$?
[ $code -eq 0 ] && jq -e '.compute == "tf32" and .wrong == 0 and .skipped == 0
    and ([.by_kernel[] | select(.cases > 20) | .kernel] | sort) == ["01_naive", "07_tile2d"]' \
    "$work/out" > /dev/null || { echo "01,07 in tf32: exit $code"; cat "$work/out"; bad=1; }
for kernel in 01_naive 07_tile2d; do
    grep -q "^rung: opencl.* $kernel .*tf32 requested, strict used" "$work/log" ||
        { echo "the log does not say that $kernel is strict:"; head -n 5 "$work/log"; bad=1; }
done
exit $bad
