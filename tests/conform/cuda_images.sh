#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda_images.sh CASES - executes every PTX image that the library contains, on the emulated driver with all checks and
# without a compiler, for each architecture at which images begin. Prints a table and fails if a result is wrong, if an image
# was not executed or if there were fewer than CASES cases.
set -u
. "$(dirname "$0")/../cuda/emulated_driver.sh"
count=$("$RUNG_BUILD/tests/build/unpack_images" "$work") || wrong "the images do not unpack"
[ "$count" -gt 0 ] || { echo "the library was built without NVRTC and has no images"; exit 77; }
export LD_LIBRARY_PATH=$emulated_driver RUNG_EMULATED_CHECKS=all RUNG_EMULATED_DRIVER_VERSION=12000
minimum=$1 cases=0 bad=0
types=f32,f32:f16,f32:bf16,f64,f64:f32,f16,f16:f32,bf16,bf16:f32,i8,i32
engine_types=f16,f16:f32,bf16,bf16:f32,tf32,i8

# check KERNELS TYPES OPTION...
check() {
    local kernels=$1 list=$2
    shift 2
    RUNG_VERBOSE=2 "$RUNG" verify --device cuda --json --quiet --kernels "$kernels" --dtype "$list" "$@" > "$work/out" \
        2>> "$work/log"
    jq -e '.complete and .wrong == 0' "$work/out" > /dev/null || { cat "$work/out"; bad=1; }
    jq -r '.by_kernel[] | [.kernel, .cases - .skipped, .wrong] | join(" ")' "$work/out" >> "$work/counts"
}
# check_all KERNELS TYPES OPTION...: general, wide and guarded paths, B along k, and split-K.
check_all() {
    check "$@" --suite tile
    check "$@" --m 132 --n 132 --k 20
    check "$@" --m 64 --n 64 --k 64 --b-strides 1,64
    case $1 in 07* | 12*) check "$@" --m 20 --n 20 --k 64 --splits 2 ;; esac
}
printf '%-12s %-13s %6s %6s\n' architecture kernel cases wrong
for architecture in 60 70 75 80; do
    export RUNG_EMULATED_ARCH=$architecture
    : > "$work/counts"
    case $architecture in
    60)
        check 01,02,03,04,05,06 $types --suite tile
        check_all 07,08,09,10 $types
        check_all 07,08,10 $types --params small
        check 14 $types --suite tile
        check 14 f32,f16,bf16 --m 4 --n 64 --k 512
        check 14 f32,f16,bf16 --m 4 --n 64 --k 512 --b-strides 1,512
        ;;
    70) check_all 11 f16,f16:f32 ;;
    75)
        check_all 11 i8
        check_all 12 f16,f16:f32 # plans choose tiles by the size of the problem
        ;;
    80)
        check_all 10 $types
        for size in BM=128 small; do
            check_all 12 $engine_types --params $size
            check 12 f32:f16,f32:bf16 --params $size --compute tf32 --suite tile
        done
        check_all 12 f64 --params f64
        check_all 11 $engine_types
        check 11 f32:f16,f32:bf16 --compute tf32 --suite tile
        ;;
    esac
    awk -v on="compute_$architecture" '{ cases[$1] += $2; wrong[$1] += $3 }
        END { for (kernel in cases) printf "%-12s %-13s %6d %6d\n", on, kernel, cases[kernel], wrong[kernel] }' \
        "$work/counts" | sort
    cases=$((cases + $(awk '{ sum += $2 } END { print sum }' "$work/counts")))
done
sed -n 's/.*loaded an embedded image, \(compute_.*\)/\1/p' "$work/log" | sort -u > "$work/executed"
sort -u "$work/names" > "$work/all"
missing=$(comm -23 "$work/all" "$work/executed")
[ -z "$missing" ] || { echo "not executed:"; echo "$missing"; bad=1; }
echo "$(comm -12 "$work/all" "$work/executed" | wc -l) of $(wc -l < "$work/all") different images executed, $cases cases"
[ "$cases" -ge "$minimum" ] || wrong "fewer than $minimum cases"
exit $bad
