#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hopper_cutlass.sh [FILE] - runs GEMMs of CUTLASS 3 for sm_90, unmodified, on the emulated driver: without checks, with all
# checks, and with planted bugs in their PTX, which the checks must find. It needs nvcc and the nvidia-cutlass package in
# RUNG_TEST_TOOLS, and takes about 10 minutes. The summary is written to FILE, to be committed as
# results/emulator/hopper-cutlass.txt. CONFIGURATIONS selects some of the configurations 0 to 5.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${RUNG_BUILD:-$here/../../build/release}
tools=${RUNG_TEST_TOOLS:-$here/../../build/tools}
file=${1:-$build/hopper-cutlass.txt}
cutlass=$(echo "$tools"/python/lib/python3*/site-packages/cutlass_library/source)
command -v nvcc > /dev/null && [ -d "$cutlass/include" ] && [ -e "$build/driver/libcuda.so.1" ] || exit 77
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
stubs=$(dirname "$(command -v nvcc)")/../lib64/stubs
failed=0

# run CHECKS PTX CONFIGURATION M N K: the product on the emulated driver.
run() {
    LD_LIBRARY_PATH=$build/driver RUNG_EMULATED_ARCH=90 RUNG_EMULATED_DRIVER_VERSION=13000 RUNG_EMULATED_CHECKS=$1 \
        timeout 300 "$folder/gemm$3" "$2" "$4" "$5" "$6" 2>&1
}

compile() {
    mkdir "$folder/keep$1"
    nvcc -std=c++17 -w --expt-relaxed-constexpr -gencode arch=compute_90a,code=compute_90a -lineinfo \
        -DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1 -DCONFIGURATION="$1" -I"$cutlass/include" -I"$cutlass/tools/util/include" \
        --keep --keep-dir "$folder/keep$1" "$here/hopper_cutlass.cu" -o "$folder/gemm$1" -L"$stubs" -lcuda || return 1
    cp "$folder/keep$1"/*.ptx "$folder/gemm$1.ptx"
    rm -r "$folder/keep$1"
}

# plant NAME SED-SCRIPT KIND: a change of configuration 0 that the checks must report as KIND.
plant() {
    sed "$2" "$folder/gemm0.ptx" > "$folder/planted.ptx"
    if cmp -s "$folder/gemm0.ptx" "$folder/planted.ptx"; then
        echo "planted bug \"$1\": the PTX has no such instruction"
        failed=1
    elif run all "$folder/planted.ptx" 0 64 64 1024 | grep -q "emulated GPU: $3 in"; then
        echo "planted bug \"$1\": found as $3"
    else
        echo "planted bug \"$1\": not found"
        failed=1
    fi
}

{
    for configuration in ${CONFIGURATIONS:-0 1 2 3 4 5}; do
        compile $configuration || { failed=1; continue; }
        for size in "128 128 256" "256 256 640" "192 144 80"; do
            for checks in none all; do
                # shellcheck disable=SC2086 # three numbers
                text=$(run $checks "$folder/gemm$configuration.ptx" $configuration $size) || failed=1
                echo "${text:0:300}; checks: $checks"
            done
        done
    done
    plant "no proxy fence before the store" 's/fence\.proxy\.async[^;]*;//' async-copy
    plant "wgmma waits too little" 's/\(wgmma\.wait_group\.sync\.aligned\) [01];/\1 7;/' race
    echo "exit $failed"
} | tee "$file"
grep -q '^exit 0$' "$file"
