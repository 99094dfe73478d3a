#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library and the command build for 64-bit ARM. On QEMU, the kernels of the CPU are right on processors with and without
# each extension, and the device names the extensions. The inner loops have no needless instructions. With an argument, verifies many more problems, and writes the counts
# to that file.
set -u
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static jq; do
    command -v $tool > /dev/null || { echo "$tool is not here"; exit 77; }
done
[ -f /usr/aarch64-linux-gnu/include/stdio.h ] || { echo "libc6-dev-arm64-cross is not here"; exit 77; }
build=$RUNG_BUILD/aarch64
# With an argument as it is released. Otherwise with little optimization, which takes half of the time; the inner loops are
# optimized in this build type, too.
optimization=(-DCMAKE_BUILD_TYPE=Release)
[ $# -gt 0 ] || optimization=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG")
cmake -S "$RUNG_SOURCE" -B "$build" --toolchain "$RUNG_SOURCE/cmake/aarch64.cmake" -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF \
    -DRUNG_TESTS=OFF -DRUNG_WERROR=ON "${optimization[@]}" > "$build.log" 2>&1 && cmake --build "$build" -j2 >> "$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
readelf -h "$build/librung.so" | grep -q AArch64 || { echo "the library is not for ARM"; exit 1; }

bash "$RUNG_SOURCE/tests/cpu/port_model_aarch64.sh" "$build" || exit 1

# The command as verify.sh calls it, on a processor of QEMU.
printf '#!/bin/sh\nexec qemu-aarch64-static -cpu "$RUNG_QEMU_CPU" -L /usr/aarch64-linux-gnu "%s/rung" "$@"\n' "$build" \
    > "$build/rung-on-qemu"
chmod +x "$build/rung-on-qemu"
# verify PROCESSOR ISA ...: the options of verify.sh.
verify() {
    RUNG_QEMU_CPU=$1 RUNG_CPU_ISA=$2 RUNG=$build/rung-on-qemu bash "$RUNG_SOURCE/tests/conform/verify.sh" cpu "${@:3}" ||
        { echo "RUNG_CPU_ISA=$2 on $1: exit code $?"; exit 1; }
}
# devices PROCESSOR ISA TEXT: the description of the device ends in TEXT.
devices() {
    RUNG_QEMU_CPU=$1 RUNG_CPU_ISA=$2 "$build/rung-on-qemu" devices | grep -q "driver .*rung [0-9.]*$3\$" ||
        { echo "RUNG_CPU_ISA=$2 rung devices on $1 does not report \"$3\""; exit 1; }
}
devices cortex-a72 mmla ', NEON'
devices max portable ', NEON'
devices max sve ', NEON, SVE 512'
devices max,sve-max-vq=2 mmla ', NEON, SVE 256, i8mm, bf16'
devices max,sve-max-vq=1 mmla ', NEON, i8mm, bf16'
types=f32,f64,f16,bf16,i8,i32,f32:f16,f32:bf16,f64:f32,f16:f32,bf16:f32
if [ $# -eq 0 ]; then
    verify cortex-a72 portable 2 500 --dtype $types --kernels 01,02,rung_gemm --suite types --every 12
    verify neoverse-n1 mmla 5 1000 --dtype $types --kernels 04,06,07,08,09 --params tiny --suite types --every 11
    # SVE, with vectors of 256 and of 512 bits.
    verify max,sve-max-vq=2 sve 1 200 --dtype $types --kernels 10 --params tiny --suite types --every 11
    verify a64fx sve 1 200 --dtype $types --kernels 10 --params tiny --suite types --every 11
    # Matrix instructions: SMMLA and BFMMLA.
    verify max mmla 1 150 --dtype bf16,bf16:f32,i8 --kernels 12,rung_gemm --params tiny --suite types --every 7
    verify max mmla 1 50 --dtype bf16:f32,i8 --kernels 12 --suite types --every 7
    verify max mmla 1 50 --packed --dtype bf16:f32,i8 --kernels 12 --params tiny --suite types --every 7
    exit 0
fi

# Each instruction set, with many more problems. `result` adds a line to the table.
printf 'processor\tRUNG_CPU_ISA\toptions\tcases\twrong\tskipped\n' > "$build/result"
result() {
    counts=$(verify "$@") || { echo "$counts"; exit 1; }
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${*:5}" "$(echo "$counts" | tr -d '[]' | tr , '\t')" >> "$build/result"
}
for pair in cortex-a72,portable neoverse-n1,mmla max,sve-max-vq=2,sve a64fx,sve; do
    processor=${pair%,*} isa=${pair##*,}
    result "$processor" "$isa" 1 1000 --dtype $types --kernels 10,rung_gemm --suite types --every 4
    result "$processor" "$isa" 1 600 --dtype $types --kernels 10 --params tiny --suite types --every 4
    result "$processor" "$isa" 1 300 --packed --dtype $types --kernels 10 --suite types --every 8
done
result max mmla 1 600 --dtype bf16,bf16:f32,i8 --kernels 12,rung_gemm --suite types
result max mmla 1 600 --dtype bf16,bf16:f32,i8 --kernels 12 --params tiny --suite types
result max mmla 1 600 --packed --dtype bf16,bf16:f32,i8 --kernels 12 --suite types
cp "$build/result" "$1"
