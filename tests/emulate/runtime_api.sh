#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# runtime_api.sh - functions of the CUDA runtime, in a program with the shared and with the static runtime.
. "$(dirname "$0")/nvcc_programs.sh"
build shared runtime_api.cu -cudart shared -arch=compute_75
expect 0 "checks, 0 failures" "$rung" emulate "$work/shared"
build static runtime_api.cu -arch=compute_75
expect 0 "checks, 0 failures" "$rung" emulate "$work/static"
expect 1 "checks, 0 failures" "$rung" emulate --check "$work/static" # one launch is out of bounds on purpose

# CUDA 12 has other structures.
headers=$(echo "$tools"/python/lib/python3*/site-packages/nvidia/cuda_runtime/include)
if [ -e "$headers/cuda_runtime_api.h" ]; then
    "$toolkit/bin/nvcc" -fatbin -arch=sm_75 -o "$work/shift.fatbin" "$here/shift.cu" || wrong "nvcc -fatbin"
    cc -o "$work/twelve" -I"$headers" "$here/runtime_12.c" "$driver/libcudart.so.12" -Wl,-rpath-link="$work/lib" || wrong "cc"
    expect 0 "CUDA 12: 1 devices, 0 failures" "$rung" emulate "$work/twelve" "$work/shift.fatbin"
    expect 0 "CUDA 12: 8 devices, 0 failures" "$rung" emulate --machine dgx-a100 "$work/twelve" "$work/shift.fatbin"
fi
echo "runtime: $failures wrong"
exit $((failures > 0))
