#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda_wgmma.sh CASES EVERY [PARAMETERS] - 13_wgmma, compiled by NVRTC for sm_90a and executed by the emulated driver with
# all checks, on every EVERY-th problem with aligned operands. Prints a table. Fails if a result is wrong, if there is a
# finding, if fewer than CASES cases were executed, or if a type was not executed in a layout that the kernel supports: all
# four of 16-bit types, and K-major operands of 8-bit types.
set -u
. "$(dirname "$0")/../cuda/emulated_driver.sh"
needs_nvrtc
library=$RUNG_BUILD/without_images
[ -e "$library/librung.so.0" ] || { echo "librung.so.0 without images was not built"; exit 77; }
minimum=$1 every=$2 params=${3:-tiny}
export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_THREADS=1 RUNG_EMULATED_CHECKS=all RUNG_EMULATED_ARCH=90

# run TYPE: writes the answer of rung verify and the log.
run() {
    LD_LIBRARY_PATH=$library:$emulated_driver:$nvrtc RUNG_VERBOSE=2 HOME=/dev/null "$RUNG" verify --device cuda --json \
        --quiet --params "$params" --dtype "$1" --kernels 13 --suite aligned --every "$every" \
        > "$work/$1.json" 2> "$work/$1.log"
}
export -f run
export library emulated_driver nvrtc work params every
printf '%s\n' f16 f16:f32 bf16 bf16:f32 f8e4m3 f8e4m3:bf16 f8e5m2 f8e5m2:bf16 i8 > "$work/types"
xargs -P "$(nproc)" -L 1 bash -c 'run "$0"' < "$work/types"

# layouts LOG: the number of layouts of A and B that were compiled.
layouts() { sed -n 's/.* compiled 13_wgmma.cu .*-DA_MN_MAJOR=\([01]\) -DB_MN_MAJOR=\([01]\).*/\1\2/p' "$1" | sort -u | wc -l; }
bad=0 cases=0 wrong=0 findings=0
printf '%-14s %8s %8s %8s %8s %9s\n' type layouts executed rejected wrong findings
while read -r type; do
    name=$work/$type
    jq -e '.schema == "rung-verify/1" and .complete' "$name.json" > /dev/null ||
        { cat "$name.json"; tail -n 3 "$name.log"; wrong "$type: rung verify did not finish"; }
    read -r executed rejected errors <<< "$(jq -r '[([.by_kernel[] | .cases - .skipped] | add),
        ([.by_kernel[].skipped] | add), .wrong] | join(" ")' "$name.json")"
    found=$(grep -c "^rung: emulated GPU: " "$name.log")
    printf '%-14s %8d %8d %8d %8d %9d\n' "$type" "$(layouts "$name.log")" "$executed" "$rejected" "$errors" "$found"
    expected=4
    [[ $type == *8* ]] && expected=1
    [ "$(layouts "$name.log")" -eq $expected ] ||
        { echo "$type was executed in $(layouts "$name.log") layouts, not $expected"; bad=1; }
    [ "$errors" -eq 0 ] || { jq '.failures[:3]' "$name.json"; bad=1; }
    [ "$found" -eq 0 ] || { grep -m 3 "^rung: emulated GPU: " "$name.log"; bad=1; }
    cases=$((cases + executed)) wrong=$((wrong + errors)) findings=$((findings + found))
done < "$work/types"
echo "$cases cases, $wrong wrong, $findings findings"
[ "$cases" -ge "$minimum" ] || wrong "fewer than $minimum cases"
exit $bad
