# SPDX-License-Identifier: Apache-2.0
# emulated_driver.sh - sourced by the scripts here and in tests/conform: where the emulated CUDA driver
# is, where the compiler is, and a machine on which there is no other.
emulated_driver=$RUNG_BUILD/emulated_driver
[ -e "$emulated_driver/libcuda.so.1" ] || { echo "the emulated driver was not built: cuda.h was not found"; exit 77; }
. "$RUNG_SOURCE/tests/support/emulated_gpu.sh"
nvrtc=$(nvrtc_folder "$RUNG_TEST_TOOLS")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
unset CUDA_HOME CUDA_PATH VIRTUAL_ENV CONDA_PREFIX XDG_CACHE_HOME RUNG_DEVICE RUNG_VERBOSE
unset RUNG_EMULATED_ARCH RUNG_EMULATED_DRIVER_VERSION RUNG_EMULATED_DEVICES RUNG_EMULATED_POOLS
export HOME=$work LC_ALL=C # without a compiler, and what is compiled is not kept

needs_nvrtc() {
    [ -n "$nvrtc" ] || { echo "NVRTC 12.9 is not here; see tools/install-test-tools"; exit 77; }
}

# with_driver and with_compiler run a command on the emulated driver alone, or with NVRTC behind it.
with_driver() { LD_LIBRARY_PATH=$emulated_driver "$@"; }
with_compiler() { LD_LIBRARY_PATH=$emulated_driver:$nvrtc "$@"; }

wrong() { echo "$*"; exit 1; }
