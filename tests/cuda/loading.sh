#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# loading.sh - drivers that are not there, lack what they need or lack what they need not:
# each in a process of its own, since a library stays loaded.
set -u
. "$(dirname "$0")/emulated_driver.sh"

# missing PATH: what `rung devices`, which never fails for it, says of CUDA on that path.
missing() {
    LD_LIBRARY_PATH=$1 "$RUNG" devices --json > "$work/devices" || wrong "rung devices exits with $?"
    jq -r '.devices[] | select(.backend == "cuda") | .missing // ""' "$work/devices"
}
# refused PATH WORDS: opening gives 77 and says so.
refused() {
    LD_LIBRARY_PATH=$1 "$RUNG" verify --device cuda --m 8 > "$work/out" 2>&1
    [ $? -eq 77 ] && grep -q "$2" "$work/out" || { cat "$work/out"; wrong "not refused with: $2"; }
}
verified() {
    "$@" "$RUNG" verify --device cuda --kernels 04,10 --m 33 > "$work/out" 2>&1 || { cat "$work/out"; wrong "$*"; }
}

verified with_driver

# A needed function is named.
missing "$emulated_driver/no_required" | grep -q "libcuda.so.1 has no cuLaunchKernel" || wrong "broken: $(missing "$emulated_driver/no_required")"
refused "$emulated_driver/no_required" "cuLaunchKernel"

# Without memory pools, functions or support, it goes as well.
verified env LD_LIBRARY_PATH="$emulated_driver/no_optional"
verified env LD_LIBRARY_PATH="$emulated_driver" RUNG_EMULATED_POOLS=0

# Faults from the start on.
for fault in cuInit:*:100:CUDA_ERROR_NO_DEVICE cuInit:*:34:CUDA_ERROR_STUB_LIBRARY \
             cuInit:*:803:CUDA_ERROR_SYSTEM_DRIVER_MISMATCH cuInit:*:3:CUDA_ERROR_NOT_INITIALIZED; do
    export RUNG_EMULATED_FAULT=${fault%:*}
    missing "$emulated_driver" | grep -q "${fault##*:}" || wrong "$fault: $(missing "$emulated_driver")"
    refused "$emulated_driver" "${fault##*:}"
done
unset RUNG_EMULATED_FAULT
RUNG_EMULATED_DRIVER_VERSION=11040 missing "$emulated_driver" | grep -q "CUDA 11.4" || wrong "an old driver is not told"
RUNG_EMULATED_DEVICES=0 missing "$emulated_driver" | grep -q "CUDA_ERROR_NO_DEVICE" || wrong "no device is not told"

# No driver at all, unless this machine has one where the loader looks.
mkdir "$work/empty"
if ! LD_LIBRARY_PATH= ldconfig -p 2> /dev/null | grep -q "libcuda\.so\.1"; then
    missing "$work/empty" | grep -q "libcuda.so.1 was not found.*install its driver (525 or later)" ||
        wrong "no driver: $(missing "$work/empty")"
    refused "$work/empty" "libcuda.so.1 was not found"
fi
LD_LIBRARY_PATH=$work/empty "$RUNG" devices > "$work/out" || wrong "rung devices exits with $?"
