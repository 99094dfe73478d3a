#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# macos.sh [RESULTS]: the libraries and the command compile and link for macOS on both processors, with Zig. Nothing runs
# them, so they are compiled with little optimization, to save time. The output goes to RESULTS.
set -u
results=${1:-}
folder=$RUNG_BUILD/macos
zig=$folder/python/lib/python3*/site-packages/ziglang/zig
if ! ls $zig > /dev/null 2>&1; then
    python3 -m venv "$folder/python" && "$folder/python/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.0 ||
        { echo "ziglang cannot be installed from PyPI"; exit 77; }
fi
export RUNG_ZIG=$(echo $zig) RUNG_MACOS_PROCESSOR ZIG_GLOBAL_CACHE_DIR=$folder/zig-cache
unset CMAKE_C_COMPILER_LAUNCHER
for RUNG_MACOS_PROCESSOR in x86_64 arm64; do
    build=$folder/$RUNG_MACOS_PROCESSOR
    cmake -S "$RUNG_SOURCE" -B "$build" --toolchain "$RUNG_SOURCE/cmake/macos.cmake" -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF \
        -DRUNG_TESTS=OFF -DRUNG_WERROR=ON -DCMAKE_C_FLAGS_RELEASE=-O1 > "$build.log" 2>&1 && cmake --build "$build" -j2 >> "$build.log" 2>&1 ||
        { cat "$build.log" >&2; exit 1; }
    for file in librung.dylib librung-outofcore.dylib librung-cluster.dylib librung-emulator.dylib librung-weights.dylib rung; do
        kind=$(file -bL "$build/$file")
        case $kind in
        "Mach-O 64-bit $RUNG_MACOS_PROCESSOR "*) echo "$RUNG_MACOS_PROCESSOR: $file: ${kind%%, flags*}" ;;
        *) echo "$file is not for macOS on $RUNG_MACOS_PROCESSOR: $kind" >&2; exit 1 ;;
        esac
    done
done > "$folder/output.txt"
cat "$folder/output.txt"
if [ -n "$results" ]; then
    mkdir -p "$results"
    cp "$folder/output.txt" "$results/build.txt"
fi
