# SPDX-License-Identifier: Apache-2.0
# emulated_gpu.sh - sourced by the tests and tools that use an emulated GPU: where the emulated driver and NVIDIA's compiler are.

# nvrtc_folder TOOLS   prints the folder of NVRTC; nothing if it is not installed
nvrtc_folder() {
    ls -d "$1"/python/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib 2> /dev/null | head -n 1
}

# use_emulated_gpu BUILD TOOLS CACHE   lets all programs use an emulated GPU, and keep compiled kernels in CACHE
use_emulated_gpu() {
    local nvrtc
    nvrtc=$(nvrtc_folder "$2")
    export LD_LIBRARY_PATH=$1/emulated_driver${nvrtc:+:$nvrtc} XDG_CACHE_HOME=$3
    export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$3/pocl}
    export RUNG_EMULATED_DRIVER_VERSION=12090 RUNG_EMULATED_ARCH=${RUNG_EMULATED_ARCH:-86}
    unset VIRTUAL_ENV CONDA_PREFIX CUDA_HOME CUDA_PATH
    mkdir -p "$POCL_CACHE_DIR"
}
