#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library and the command build for 64-bit ARM, and there, on QEMU, the CPU's kernels are
# right: what they are on a processor that none of their instructions were written for.
set -u
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static jq; do
    command -v $tool > /dev/null || { echo "$tool is not here"; exit 77; }
done
[ -f /usr/aarch64-linux-gnu/include/stdio.h ] || { echo "libc6-dev-arm64-cross is not here"; exit 77; }
build=$RUNG_BUILD/aarch64
cmake -S "$RUNG_SOURCE" -B "$build" --toolchain "$RUNG_SOURCE/cmake/aarch64.cmake" -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF \
    -DRUNG_TESTS=OFF -DRUNG_WERROR=ON > "$build.log" 2>&1 && cmake --build "$build" -j2 >> "$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
readelf -h "$build/librung.so" | grep -q AArch64 || { echo "the library is not for ARM"; exit 1; }

# The command as verify.sh calls it.
printf '#!/bin/sh\nexec qemu-aarch64-static -L /usr/aarch64-linux-gnu "%s/rung" "$@"\n' "$build" \
    > "$build/rung-on-qemu"
chmod +x "$build/rung-on-qemu"
verify() { RUNG=$build/rung-on-qemu bash "$RUNG_SOURCE/tests/conform/verify.sh" cpu "$@" --dtype "$types" || exit 1; }
types=f32,f64,f16,bf16,i8,i32,f32:f16,f32:bf16,f64:f32,f16:f32,bf16:f32
verify 2 500 --kernels 01,02,rung_gemm --suite types --every 12
verify 5 1000 --kernels 04,06,07,08,09 --params tiny --suite types --every 11
