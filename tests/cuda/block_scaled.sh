#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# block_scaled.sh [CASES [ARCHITECTURE...]] - 17_block_scaled, compiled by NVRTC, on the emulated driver, which looks for wrong
# accesses, races and reads of uninitialized memory. With 100 cases or more, the registers of the kernel are checked, too. An
# older GPU refuses the types, and so does a machine without NVRTC: the messages say why.
set -u
. "$(dirname "$0")/emulated_driver.sh"
needs_nvrtc
cases=${1:-12}
shift
[ $# -gt 0 ] || set -- 89 120
program=$RUNG_BUILD/tests/simt/test_simt_quantized_pairs
[ -x "$program" ] || { echo "$program was not built"; exit 1; }
export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_CHECKS=all RUNG_TUNING=off

for architecture in "$@"; do
    export RUNG_EMULATED_ARCH=$architecture
    with_compiler "$program" cuda "$cases" 17_block_scaled > "$work/out" 2>&1 || { cat "$work/out"; wrong "on sm_$architecture"; }
    if grep "emulated GPU: " "$work/out"; then wrong "on sm_$architecture: findings"; fi
    grep " registers, " "$work/out"
    echo "17_block_scaled on sm_$architecture: $(grep " problems$" "$work/out")"
done
with_driver "$program" cuda "$cases" 17_block_scaled > "$work/out" 2>&1 && wrong "no compiler is needed"
grep -q "has no embedded image of 17_block_scaled.*libnvrtc was not found; install it" "$work/out" ||
    { cat "$work/out"; wrong "without NVRTC"; }
export RUNG_EMULATED_ARCH=86
with_compiler "$program" cuda "$cases" 17_block_scaled > "$work/out" 2>&1 && wrong "sm_86 has no FP8"
grep -q "17_block_scaled multiplies f8e4m3 only on sm_89 and later; .* is sm_86" "$work/out" ||
    { cat "$work/out"; wrong "on sm_86"; }
