#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# random.sh SECONDS - the soak test on all devices for some seconds, and cases that were wrong once; see tools/soak.
set -u
[ -e "$RUNG_BUILD/emulated_driver/libcuda.so.1" ] || { echo "the emulated driver was not built: cuda.h was not found"; exit 77; }
# Groups on a GPU that were rejected: a quantized B of repeated columns, and one of blocks and with k = 0.
for case in 55230 102143; do
    "$RUNG_SOURCE/tools/soak" --devices opencl,cuda --case $case > /dev/null || { echo "case $case is wrong"; exit 1; }
done
for device in cpu opencl,cuda; do
    "$RUNG_SOURCE/tools/soak" --devices "$device" --seconds "$1"
    code=$?
    [ $code -eq 0 ] || exit $code
done
