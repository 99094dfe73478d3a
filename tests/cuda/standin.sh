# SPDX-License-Identifier: Apache-2.0
# standin.sh - sourced by the scripts of this folder: where the stand-in for NVIDIA's driver
# is, where the compiler is, and a machine on which there is no other.
standin=$RUNG_BUILD/cuda_on_opencl
[ -e "$standin/libcuda.so.1" ] || { echo "the stand-in was not built: cuda.h is not here"; exit 77; }
nvrtc=$(ls -d "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib 2> /dev/null | head -n 1)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
unset CUDA_HOME CUDA_PATH VIRTUAL_ENV CONDA_PREFIX XDG_CACHE_HOME RUNG_DEVICE RUNG_VERBOSE
unset RUNG_STANDIN_ARCH RUNG_STANDIN_DRIVER RUNG_STANDIN_DEVICES RUNG_STANDIN_POOLS
export HOME=$work LC_ALL=C # without a compiler, and what is compiled is not kept

needs_nvrtc() {
    [ -n "$nvrtc" ] || { echo "NVRTC 12.9 is not here; see tools/install-test-tools"; exit 77; }
}

# with_driver and with_compiler run a command on the stand-in alone, or with NVRTC behind it.
with_driver() { LD_LIBRARY_PATH=$standin "$@"; }
with_compiler() { LD_LIBRARY_PATH=$standin:$nvrtc "$@"; }

wrong() { echo "$*"; exit 1; }
