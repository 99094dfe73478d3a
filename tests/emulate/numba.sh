#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numba.sh [FILE] - runs kernels of numba-cuda on the emulated driver and compares the results with NumPy. Installs numba-cuda
# and NVVM from PyPI (about 150 MB) in emulated/ of the build folder. The output is written to FILE, to be committed as
# results/emulator/numba.txt.
. "$(dirname "$0")/python_programs.sh"
install numba-cuda==0.30.4 numba==0.68.1 numpy==2.4.6 nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-nvrtc-cu12==12.9.86 \
    nvidia-cuda-runtime-cu12==12.9.79
file=${1:-$build_folder/numba.txt}
export NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS=0 NUMBA_CUDA_WARN_ON_IMPLICIT_COPY=0
{
    echo "# numba-cuda 0.30.4, NVVM 12.9.86, on the emulated driver (tests/emulate/numba.sh)"
    run "$here/numba_kernels.py"
} > "$file"
status=$?
cat "$file"
exit $status
