#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# random.sh SECONDS - the soak test on all devices for some seconds, and a case that was wrong once; see tools/soak.
set -u
[ -e "$RUNG_BUILD/emulated_driver/libcuda.so.1" ] || { echo "the emulated driver was not built: cuda.h was not found"; exit 77; }
# A case that was wrong: a group on a GPU with a quantized B of repeated columns was refused.
"$RUNG_SOURCE/tools/soak" --devices cuda --case 55230 > /dev/null || { echo "case 55230 is wrong"; exit 1; }
for device in cpu opencl,cuda; do
    "$RUNG_SOURCE/tools/soak" --devices "$device" --seconds "$1"
    code=$?
    [ $code -eq 0 ] || exit $code
done
