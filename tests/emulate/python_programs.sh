# SPDX-License-Identifier: Apache-2.0
# python_programs.sh - for tinygrad.sh and numba.sh: installs packages of PyPI, and runs Python programs on the emulated driver.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_folder=${RUNG_BUILD:-$here/../../build/release}
rung=$build_folder/rung
[ -e "$build_folder/driver/libcuda.so.1" ] || { echo "librung-cuda-emulator is not built"; exit 77; }
[ -z "${RUNG_SANITIZE:-}" ] || { echo "Python is not built with sanitizers"; exit 77; }
unset "${!RUNG_EMULATED_@}" CUDA_HOME CUDA_PATH
python=$build_folder/emulated/venv/bin/python

# install PACKAGE...: in a folder of its own; skips the test if PyPI cannot be reached.
install() {
    [ -x "$python" ] || python3 -m venv "$build_folder/emulated/venv" || exit 77
    "$python" -m pip install --quiet --disable-pip-version-check "$@" > "$build_folder/emulated/pip.log" 2>&1 ||
        { tail -3 "$build_folder/emulated/pip.log"; exit 77; }
}

# run SCRIPT: on the emulated driver. NVRTC is where its package is.
run() {
    LD_LIBRARY_PATH=$(echo "$build_folder"/emulated/venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib) \
        "$rung" emulate "$python" "$@" 2> "$build_folder/emulated/errors.log" || { tail -5 "$build_folder/emulated/errors.log"; return 1; }
}
