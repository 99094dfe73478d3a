#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda.sh CODE KERNELS CASES [OPTION...] - tests/conform/verify.sh on the CUDA device, on
# the emulated driver: with the images that the library carries (CODE: embedded), or
# with NVRTC at run time (compiled).
set -u
. "$(dirname "$0")/../cuda/emulated_driver.sh"
code=$1
shift
# Embedded PTX suits older drivers; PTX of NVRTC 12.9 needs a driver for CUDA 12.9.
path=$emulated_driver version=12.4
[ "$code" = embedded ] || { needs_nvrtc; path=$emulated_driver:$nvrtc version=12.9; }
export LD_LIBRARY_PATH=$path RUNG_EMULATED_ARCH=86 RUNG_EMULATED_DRIVER_VERSION=${version/./0}0
"$RUNG" devices --json | jq -e --arg driver "CUDA $version" '[.devices[] | select(.backend == "cuda")] | length == 1 and
    .[0].title == "NVIDIA GeForce RTX 3090" and .[0].driver == $driver' > "$work/out" ||
    wrong "the device is not the emulated one"
# What is carried needs no compiler, and the rest is compiled.
RUNG_VERBOSE=2 "$RUNG" verify --device cuda --kernels 04 --params TILE=8 --m 9 --json > "$work/out" 2>&1
if [ "$code" = embedded ]; then
    grep -q "libnvrtc was not found" "$work/out" || { cat "$work/out"; wrong "there is a compiler on the path"; }
else
    grep -q "compiled 04_shared.cu" "$work/out" || { cat "$work/out"; wrong "there is no compiler on the path"; }
fi
bash "$RUNG_SOURCE/tests/conform/verify.sh" cuda "$@"
