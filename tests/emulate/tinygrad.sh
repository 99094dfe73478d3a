#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tinygrad.sh [FILE] - runs operations of tinygrad, with its own CUDA back end and NVIDIA's NVRTC, on the emulated driver, and
# compares the results with NumPy. Installs tinygrad from PyPI (about 80 MB with NVRTC) in emulated/ of the build folder. The
# output is written to FILE, to be committed as results/emulator/tinygrad.txt.
. "$(dirname "$0")/python_programs.sh"
install tinygrad==0.14.0 numpy==2.4.6 nvidia-cuda-nvrtc-cu12==12.9.86
file=${1:-$build_folder/tinygrad.txt}
{
    echo "# tinygrad 0.14.0, NVRTC 12.9.86, on the emulated driver (tests/emulate/tinygrad.sh)"
    DEV=CUDA CACHELEVEL=0 run "$here/tinygrad_ops.py"
} > "$file"
status=$?
cat "$file"
exit $status
