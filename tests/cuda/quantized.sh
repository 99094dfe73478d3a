#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quantized.sh [EVERY [ARCHITECTURE...]] - 15_quantized, compiled by NVRTC, on the emulated driver, which looks for wrong
# accesses, races and reads of uninitialized memory. Without NVRTC such a problem is refused, and the message says what to
# install.
set -u
. "$(dirname "$0")/emulated_driver.sh"
needs_nvrtc
every=${1:-61}
shift
[ $# -gt 0 ] || set -- 60 120
program=$RUNG_BUILD/tests/simt/test_simt_quantized
[ -x "$program" ] || { echo "$program was not built"; exit 1; }
export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_CHECKS=all RUNG_TUNING=off
for architecture in "$@"; do
    export RUNG_EMULATED_ARCH=$architecture
    with_compiler "$program" cuda "$every" > "$work/out" 2>&1 || { cat "$work/out"; wrong "sm_$architecture"; }
    if grep "emulated GPU: " "$work/out"; then wrong "sm_$architecture: findings"; fi
    echo "sm_$architecture: $(grep combinations "$work/out")"
done
with_driver "$program" cuda "$every" > "$work/out" 2>&1 && wrong "no compiler is needed"
grep -q "has no embedded image of 15_quantized.*libnvrtc was not found; install it" "$work/out" ||
    { cat "$work/out"; wrong "without NVRTC"; }
