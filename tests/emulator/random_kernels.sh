#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# random_kernels.sh [KERNELS] - random kernels, compiled by NVRTC for the emulator and by the C compiler for the host, must
# compute equal bits. 5000 of them make results/emulator/random_kernels.txt: ctest --preset release -R random_kernels_all -V
set -u
nvrtc=$(ls "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 2> /dev/null |
        head -n 1)
program=$RUNG_BUILD/tests/emulator/test_emulator_random_kernels
for file in "$nvrtc" "$program"; do
    [ -e "$file" ] || { echo "random_kernels.sh: NVRTC or $program is missing; see tools/install-test-tools" >&2; exit 77; }
done
work=$(mktemp -d) || exit 1
if ! "$program" --nvrtc "$nvrtc" --compiler "${CC:-cc}" --kernels "${1:-200}" --folder "$work"; then
    echo "random_kernels.sh: sources and PTX of the batches that differ are in $work" >&2
    exit 1
fi
rm -rf "$work"
