#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quantized.sh [EVERY [ARCHITECTURE...]] - 15_quantized and 16_quantized_matrix, compiled by NVRTC, on the emulated driver, which
# looks for wrong accesses, races and reads of uninitialized memory. Without NVRTC such a problem is refused, and the message
# says what to install.
set -u
. "$(dirname "$0")/emulated_driver.sh"
needs_nvrtc
every=${1:-61}
shift
[ $# -gt 0 ] || set -- 60 120
program=$RUNG_BUILD/tests/simt/test_simt_quantized
[ -x "$program" ] || { echo "$program was not built"; exit 1; }
export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_CHECKS=all RUNG_TUNING=off

# check KERNEL ARCHITECTURE
check() {
    export RUNG_EMULATED_ARCH=$2
    with_compiler "$program" cuda "$every" "$1" > "$work/out" 2>&1 || { cat "$work/out"; wrong "$1 on sm_$2"; }
    if grep "emulated GPU: " "$work/out"; then wrong "$1 on sm_$2: findings"; fi
    echo "$1 on sm_$2: $(grep combinations "$work/out")"
}
for architecture in "$@"; do
    check 15_quantized "$architecture"
    [ "$architecture" -lt 80 ] || check 16_quantized_matrix "$architecture" # older engines have no BF16
done
with_driver "$program" cuda "$every" > "$work/out" 2>&1 && wrong "no compiler is needed"
grep -q "has no embedded image of 15_quantized.*libnvrtc was not found; install it" "$work/out" ||
    { cat "$work/out"; wrong "without NVRTC"; }
