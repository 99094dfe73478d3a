#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nvrtc_compiler.sh - what there is with NVRTC and not without: parameters that no image has, blocks
# with more than 48 KiB of shared memory, epilogues in the kernel itself, and PTX for a GPU that
# the compiler does not know.
set -u
. "$(dirname "$0")/emulated_driver.sh"
needs_nvrtc

# verify WORDS OPTION...: right, with these words in the log.
verify() {
    local words=$1
    shift
    RUNG_VERBOSE=2 with_compiler "$RUNG" verify --device cuda "$@" > "$work/out" 2>&1 &&
        grep -q -e "$words" "$work/out" || { cat "$work/out"; wrong "not \"$words\": $*"; }
}

verify "compiled 10_pipeline.cu.*-DSTAGES=4.*for compute_86, driver 12090" --kernels 10 --params deep --m 128 --k 64
RUNG_EMULATED_ARCH=75 with_compiler "$RUNG" verify --device cuda --kernels 10 --params deep --m 128 --k 64 > "$work/out" 2>&1
grep -q "bytes of shared memory per block; cuda:0 has 65536" "$work/out" || { cat "$work/out"; wrong "64 KiB are not told"; }

verify "compiled 07_tile2d.cu.*-DBIAS" --kernels 07 --params tiny --m 20 --epilogue bias_col,relu
RUNG_EMULATED_ARCH=130 verify "compiled 04_shared.cu.*for compute_12[0-9]," --kernels 04 --params TILE=8 --m 20

# Without it, the same is refused with what to do.
with_driver "$RUNG" verify --device cuda --kernels 04 --params TILE=8 --m 20 --json > "$work/out" 2>&1
[ $? -eq 77 ] && grep -q "pip install nvidia-cuda-nvrtc-cu12" "$work/out" || { cat "$work/out"; wrong "not refused"; }
