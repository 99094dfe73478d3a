#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# inline_ptx.sh [FOLDER] - every inline PTX statement of the kernels in FOLDER (src/simt/kernels) is executed by a conformance
# case on the emulated driver. A statement in a macro counts at each use of the macro. Statements without an instruction and
# traps are not expected: the host never launches a kernel that traps.
set -u
. "$(dirname "$0")/../cuda/emulated_driver.sh"
needs_nvrtc
folder=${1:-$RUNG_SOURCE/src/simt/kernels}
library=$RUNG_BUILD/without_images
[ -e "$library/librung.so.0" ] || { echo "librung.so.0 without images was not built"; exit 77; }
export LD_LIBRARY_PATH=$library:$emulated_driver:$nvrtc RUNG_EMULATED_DRIVER_VERSION=12090
export RUNG_EMULATED_COVERAGE=$work/coverage

# The macros that contain inline PTX, and then file, first and last line of each statement.
macros=$(awk '/^#define/ { name = $2; sub(/\(.*/, "", name); inside = 1 }
    inside && /asm( volatile)?\(/ { print name } inside && !/\\$/ { inside = 0 }' "$folder"/* | sort -u | paste -s -d '|')
[ -n "$macros" ] || wrong "no macro of $folder contains inline PTX"
awk -v macros="(^|[^A-Za-z_])($macros)\\(" '
    FNR == 1 { inside = first = 0; file = FILENAME; sub(/.*\//, "", file) }
    /^#define/ { inside = 1 }
    !inside && !/^DEVICE/ && !/^ *(\*|\/\*)/ && !/asm( volatile)?\(("trap;"\)|"" :)/ && ($0 ~ macros || /asm( volatile)?\(/) {
        first = FNR
    }
    first && /; *$/ { print file "\t" first "\t" FNR; first = 0 }
    inside && !/\\$/ { inside = 0 }' "$folder"/* > "$work/expected"

# run ARCHITECTURE KERNELS TYPES [SUITE EVERY]
run() {
    RUNG_EMULATED_ARCH=$1 "$RUNG" verify --device cuda --json --params tiny --kernels "$2" --dtype "$3" \
        --suite "${4:-edges}" --every "${5:-3}" > "$work/out" 2> "$work/log" ||
        { cat "$work/out" "$work/log"; wrong "compute_$1, $2, $3"; }
}
run 75 12 f16,i8
run 86 01 bf16
run 86 10 f32,f64,f16,i8
run 86 11,12 f16,bf16,tf32,i8
run 86 12 f64,tf32x3,bf16x3 edges 9
run 89 12 f8e4m3,f8e5m2
run 90 12 f64,f8e5m2 edges 9
run 90 13 f16 aligned 13
# rung verify has no compute mode in which 16_quantized_matrix and 17_block_scaled compute.
# run_test ARCHITECTURE PROGRAM CASES KERNEL
run_test() {
    RUNG_EMULATED_ARCH=$1 RUNG_TUNING=off "$RUNG_BUILD/tests/simt/$2" cuda "$3" "$4" > "$work/out" 2>&1 ||
        { cat "$work/out"; wrong "compute_$1, $4"; }
}
run_test 86 test_simt_quantized 211 16_quantized_matrix
run_test 90 test_simt_quantized_pairs 4 17_block_scaled
run_test 120 test_simt_quantized_pairs 8 17_block_scaled
missing=$(awk -F '\t' 'FNR == NR { sub(/.*\//, "", $1); executed[$1, $2] = 1; next }
    { found = 0; for (line = $2; line <= $3; line++) found = found || ($1, line) in executed }
    !found { print $1 ":" $2 }' "$work/coverage" "$work/expected")
[ -z "$missing" ] || wrong "no conformance case executed the inline PTX of" $missing
echo "$(wc -l < "$work/expected") inline PTX statements executed"
