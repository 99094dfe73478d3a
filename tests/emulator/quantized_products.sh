#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quantized_products.sh - products of NVFP4, MXFP8 and MXFP6 in CUDA, compiled by NVRTC for compute_120a, in the emulator.
set -u
packages=$(ls -d "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia 2> /dev/null | head -n 1)
nvrtc=$packages/cuda_nvrtc/lib/libnvrtc.so.12 include=$packages/cuda_runtime/include
program=$RUNG_BUILD/tests/emulator/test_emulator_quantized_products
for file in "$nvrtc" "$include/cuda_fp4.h" "$program"; do
    [ -e "$file" ] || { echo "quantized_products.sh: $file is missing; see tools/install-test-tools" >&2; exit 77; }
done
"$program" --nvrtc "$nvrtc" --include "$include" --source "$(dirname "$0")/quantized_products.cu"
