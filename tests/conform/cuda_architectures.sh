#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda_architectures.sh CASES EVERY KERNELS ARCHITECTURE... - every kernel, type combination and path of the CUDA device,
# compiled by NVRTC for each architecture and executed by the emulated driver with all checks, on every EVERY-th problem of
# the full suite.
# Prints a table and fails if a result is wrong, if there were fewer than CASES cases or, with EVERY up to 5, if a path was not
# executed.
#
# A module is one compiled kernel. 07 to 10 have nine paths per type combination, apart from epilogues and split-K: the
# general path, and the wide one with and without guards for four layouts of A and B. 12_matrix has the general path and the
# four layouts, 14_skinny the general path and, with and without guards, the two layouts of its
# large operand.
set -u
. "$(dirname "$0")/../cuda/emulated_driver.sh"
needs_nvrtc
library=$RUNG_BUILD/without_images
[ -e "$library/librung.so.0" ] || { echo "librung.so.0 without images was not built"; exit 77; }
export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_THREADS=1 RUNG_EMULATED_CHECKS=all work library emulated_driver nvrtc
minimum=$1
export every=$2
kernels=$3
shift 3
types=f32,f32:f16,f32:bf16,f64,f64:f32,f16,f16:f32,bf16,bf16:f32,i8,i32
export types

# run ARCHITECTURE KERNEL: writes the answer of rung verify, the log and the seconds.
run() {
    local name=$work/$1_$2 list=$types start=$EPOCHREALTIME
    [ "$2" = 11 ] || [ "$2" = 12 ] && list=f16,f16:f32,bf16,bf16:f32,tf32,i8
    [ "$2" = 12 ] && list+=,f64,tf32x3,bf16x3,f8e4m3,f8e4m3:bf16,f8e5m2,f8e5m2:bf16
    LD_LIBRARY_PATH=$library:$emulated_driver:$nvrtc RUNG_EMULATED_ARCH=$1 RUNG_VERBOSE=2 HOME=/dev/null \
        "$RUNG" verify --device cuda --json --quiet --params tiny --dtype "$list" --kernels "$2" --suite full \
        --every "$every" > "$name.json" 2> "$name.log"
    awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }' > "$name.seconds"
}
export -f run
for architecture in "$@"; do
    for kernel in ${kernels//,/ }; do
        # Engines of sm_75 multiply f16 and i8. Older GPUs that the emulated driver knows have none.
        case $kernel in
        11 | 12) [ "$architecture" -lt 75 ] || echo "$architecture $kernel" ;;
        *) echo "$architecture $kernel" ;;
        esac
    done
done > "$work/jobs"
xargs -P "$(nproc)" -L 1 bash -c 'run "$0" "$1"' < "$work/jobs"

# modules LOG: type macros, then path, of each compiled kernel. plain: without epilogue and split-K.
modules() { sed -n 's/.* compiled \([^ ]*\.cu.*\) with nvrtc.*/\1/p' "$1" | grep -v '^reduce' | sort -u; }
plain() {
    modules "$1" | grep -v -e -DSPLIT -e -DBIAS -e -DRESIDUAL -e -DACTIVATION -e -DADDEND -e -DPARTIAL | sort -u | wc -l
}
bad=0 cases=0 wrong=0
printf '%-12s %-13s %7s %7s %7s %6s %6s %8s\n' architecture kernel types modules paths cases wrong seconds
while read -r architecture kernel; do
    name=$work/${architecture}_$kernel
    jq -e '.schema == "rung-verify/1" and .complete' "$name.json" > /dev/null ||
        { cat "$name.json"; tail -n 3 "$name.log"; wrong "compute_$architecture, $kernel: rung verify did not finish"; }
    read -r title count errors combinations <<< "$(jq -r '[.by_kernel[0].kernel, ([.by_kernel[] | .cases - .skipped] | add),
        .wrong, ([.by_kernel[] | select(.skipped == 0)] | length)] | join(" ")' "$name.json")"
    paths=$(plain "$name.log")
    printf '%-12s %-13s %7d %7d %7d %6d %6d %8s\n' "compute_$architecture" "$title" "$combinations" \
        "$(modules "$name.log" | wc -l)" "$paths" "$count" "$errors" "$(cat "$name.seconds")"
    expected=11 each=1
    case $kernel in
    07 | 08 | 09 | 10) each=9 ;;
    11) expected=$((architecture < 80 ? 3 : 6)) ;;
    12) expected=$((architecture < 80 ? 3 : architecture < 89 ? 9 : 13)) each=5 ;;
    14) each=5 ;;
    esac
    [ "$combinations" -eq "$expected" ] || { echo "$title was executed for $combinations type combinations, not $expected"; bad=1; }
    [ "$every" -gt 5 ] || [ "$paths" -ge $((expected * each)) ] || { echo "$title has $((expected * each)) paths, of which $paths were executed"; bad=1; }
    [ "$errors" -eq 0 ] || { jq .failures "$name.json"; bad=1; }
    cases=$((cases + count)) wrong=$((wrong + errors))
done < "$work/jobs"
echo "$cases cases, $wrong wrong"
[ "$cases" -ge "$minimum" ] || wrong "fewer than $minimum cases"
exit $bad
