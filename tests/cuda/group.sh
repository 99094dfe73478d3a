#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# group.sh - groups of problems by one launch on the emulated driver, which looks for wrong accesses, races and reads of
# uninitialized memory: with NVRTC, for architectures with and without cp.async; and without NVRTC, one problem after
# another.
set -u
. "$(dirname "$0")/emulated_driver.sh"
needs_nvrtc
program=$RUNG_BUILD/tests/simt/test_simt_group
[ -x "$program" ] || { echo "$program was not built"; exit 1; }
export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_CHECKS=all RUNG_TUNING=off
for architecture in 70 86; do
    export RUNG_EMULATED_ARCH=$architecture
    with_compiler "$program" cuda > "$work/out" 2>&1 || { cat "$work/out"; wrong "sm_$architecture"; }
done
with_driver "${program}_with_images" cuda mixed_layouts "one after another: " > "$work/out" 2>&1 ||
    { cat "$work/out"; wrong "without NVRTC"; }
