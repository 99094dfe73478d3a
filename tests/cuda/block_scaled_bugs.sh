#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# block_scaled_bugs.sh [PATTERN] - plants each bug of block_scaled_bugs.txt, or those whose names match PATTERN, into the text of
# 17_block_scaled and runs tests/simt/quantized_pairs.c on the emulated driver with this text. Every bug must be reported, by a
# wrong result or by a finding of the emulator, and the text without a bug must not. results/quantized/block_scaled_bugs.tsv is
# the output.
set -u
. "$(dirname "$0")/emulated_driver.sh"
needs_nvrtc
here=$(dirname "$0") program=$RUNG_BUILD/tests/simt/test_simt_quantized_pairs kernels=$RUNG_SOURCE/src/simt/kernels
[ -x "$program" ] || { echo "$program was not built"; exit 1; }
export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_CHECKS=all RUNG_TUNING=off RUNG_EMULATED_ARCH=120

# Inserts the header before its #include, which then has no effect, and runs the program.
run_text() {
    awk -v header="$work/scaled_mma.h" '/^#include "scaled_mma.h"/ { while ((getline line < header) > 0) print line } { print }' \
        "$work/17_block_scaled.cu" > "$work/kernel.cu"
    with_compiler "$program" cuda 60 17_block_scaled "$work/kernel.cu" > "$work/out" 2>&1
}

# What the emulator and the program say first.
report() {
    grep -o -m 1 "emulated GPU: [a-z-]*" "$work/out" || grep -m 1 "; expected " "$work/out" | sed 's/^ *//'
}

copy_texts() { cp "$kernels/17_block_scaled.cu" "$kernels/scaled_mma.h" "$work"; }

failed=0
if [ $# -eq 0 ]; then
    copy_texts
    run_text && ! grep -q "emulated GPU: " "$work/out" || { cat "$work/out"; wrong "the kernel without a bug is reported"; }
    printf 'bug\tfile\treported\n'
fi
while read -r name file script; do
    copy_texts
    sed -i "$script" "$work/$file"
    cmp -s "$work/$file" "$kernels/$file" && { echo "$name: the script changes nothing"; failed=1; continue; }
    run_text
    code=$?
    if grep -q "did not compile" "$work/out"; then
        echo "$name: does not compile"; cat "$work/out"; failed=1
    elif [ $code -eq 0 ] && ! grep -q "emulated GPU: " "$work/out"; then
        echo "$name: NOT CAUGHT"; failed=1
    else
        printf '%s\t%s\t%s\n' "$name" "$file" "$(report)"
    fi
done < <(grep -E "^(${1:-[a-z]})" "$here/block_scaled_bugs.txt")
exit $failed
