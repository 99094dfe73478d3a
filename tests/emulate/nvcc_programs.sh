# SPDX-License-Identifier: Apache-2.0
# nvcc_programs.sh - for the scripts of this folder: finds nvcc, and makes a folder for programs. Sets here, rung, driver, work
# and include, and defines build, expect and wrong.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_folder=${RUNG_BUILD:-$here/../../build/release}
tools=${RUNG_TEST_TOOLS:-$here/../../build/tools}
rung=$build_folder/rung
driver=$build_folder/driver
toolkit=$(echo "$tools"/python/lib/python3*/site-packages/nvidia/cu13)
[ -x "$toolkit/bin/nvcc" ] || toolkit=$(dirname "$(dirname "$(command -v nvcc || echo /none/none)")")
[ -x "$toolkit/bin/nvcc" ] || { echo "nvcc is not here; see tools/install-test-tools"; exit 77; }
[ -e "$driver/libcuda.so.1" ] || { echo "librung-cuda-emulator is not built"; exit 77; }
[ -z "${RUNG_SANITIZE:-}" ] || { echo "sanitizers use the addresses of the emulated GPU"; exit 77; }
unset "${!RUNG_EMULATED_@}" LD_PRELOAD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=$toolkit/include
# nvcc -cudart shared looks for libcudart.so, which packages of PyPI do not have.
mkdir "$work/lib"
ln -s "$driver/libcudart.so.13" "$work/lib/libcudart.so"
ln -s "$driver/libcuda.so.1" "$work/lib/libcuda.so"
ln -s "$driver/libcuda.so.1" "$work/lib/libcuda.so.1"
# Cooperative groups include headers of CCCL, which is a package of its own.
cccl=$(echo "$tools"/python/lib/python3*/site-packages/nvidia/cuda_cccl/include)
[ -d "$include/cccl" ] && cccl=$include/cccl
failures=0

wrong() {
    echo "WRONG: $*"
    failures=$((failures + 1))
}

# build NAME SOURCE OPTION...: compiles a program of this folder.
build() {
    local name=$1 source=$2
    shift 2
    "$toolkit/bin/nvcc" -std=c++17 -I"$cccl" -L"$work/lib" -L"$toolkit/lib" -Xlinker -rpath-link="$work/lib" "$@" -o "$work/$name" "$here/$source" > "$work/$name.log" 2>&1 ||
        { wrong "nvcc does not build $name"; tail -5 "$work/$name.log"; }
}

# expect STATUS TEXT COMMAND...: the exit status, and a text of standard output or error.
expect() {
    local status=$1 text=$2 found
    shift 2
    "$@" > "$work/output" 2>&1
    found=$?
    [ "$found" = "$status" ] || wrong "$* ended with $found, not with $status: $(cat "$work/output")"
    grep -qe "$text" "$work/output" || wrong "$* did not print \"$text\": $(cat "$work/output")"
}
