#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda_matrix_engine.sh CASES ARCHITECTURE... -- OPTION... - the kernels for matrix engines on the CUDA
# device, posing as each architecture: what its engine multiplies is right, at least so many
# cases in all, and what it does not is refused with the reason. Compiled by NVRTC at run
# time, since tiles small enough to be emulated by the thousand are not carried.
set -u
. "$(dirname "$0")/../cuda/emulated_driver.sh"
needs_nvrtc
export LD_LIBRARY_PATH=$emulated_driver:$nvrtc RUNG_EMULATED_DRIVER_VERSION=12090 XDG_CACHE_HOME=$work/cache
cases=$1 all=0
shift
architectures=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do architectures+=("$1"); shift; done
shift

# check TYPES OPTION...: all of them right.
check() {
    local types=$1
    shift
    "$RUNG" verify --device cuda --kernels 11,12 --params tiny --dtype "$types" --json "$@" > "$work/out" ||
        { cat "$work/out"; wrong "sm_$RUNG_EMULATED_ARCH"; }
    jq -e '.wrong == 0 and .skipped == 0' "$work/out" > /dev/null || { cat "$work/out"; wrong "skipped"; }
    all=$((all + $(jq .cases "$work/out")))
    echo "sm_$RUNG_EMULATED_ARCH $types: $(jq .cases "$work/out") cases"
}
# refuses KERNEL TYPES ARCHITECTURE
refuses() {
    "$RUNG" verify --device cuda --kernels "$1" --params tiny --dtype "$2" --m 3 --json > "$work/out"
    jq -e --arg why "on $3 and later" '.wrong == 0 and (.by_kernel | all(.skipped == 1 and .cases == 1 and
        (.why_skipped | contains($why))))' "$work/out" > /dev/null ||
        { cat "$work/out"; wrong "sm_$RUNG_EMULATED_ARCH does not refuse $2"; }
}
for architecture in "${architectures[@]}"; do
    export RUNG_EMULATED_ARCH=$architecture
    if [ "$architecture" -ge 80 ]; then
        check f16,bf16,tf32,i8 "$@"
    else
        check f16,i8 "$@"
        refuses 11,12 bf16,tf32 sm_80
    fi
done
export RUNG_EMULATED_ARCH=70
refuses 12 f16,i8 sm_75
refuses 11 i8 sm_75
[ "$all" -ge "$cases" ] || wrong "$all cases"
echo "$all cases"
