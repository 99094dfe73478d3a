#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# windows.sh library|all [RESULTS]: builds for Windows with mingw-w64 and runs what it built with Wine.
#
# library: the library and one example, which must print what the build for this system prints. It is compiled with little
# optimization, to save time.
# all: the libraries and the command. rung verify must find all CPU kernels right, for each instruction set that Wine can
# use. The output goes to RESULTS.
set -u
mode=$1 results=${2:-}
for tool in x86_64-w64-mingw32-gcc-posix wine jq; do
    command -v $tool > /dev/null || { echo "$tool is not installed (Debian: gcc-mingw-w64-x86-64-posix wine wine64 jq)"; exit 77; }
done
build=$RUNG_BUILD/windows-$mode
export WINEPREFIX=$build/wine WINEDEBUG=-all
fail() {
    echo "$1"
    exit 1
}
case $mode in
library) options="-DRUNG_LAB=OFF -DRUNG_OUTOFCORE=OFF -DRUNG_CLUSTER=OFF -DRUNG_EMULATOR=OFF -DCMAKE_C_FLAGS_RELEASE=-O1" ;;
all) options= ;;
*) fail "windows.sh: mode $mode is unknown; use library or all" ;;
esac
cmake -S "$RUNG_SOURCE" -B "$build" --toolchain "$RUNG_SOURCE/cmake/windows.cmake" -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF \
    -DRUNG_TESTS=OFF -DRUNG_EXAMPLES=ON -DRUNG_WERROR=ON $options > "$build.log" 2>&1 &&
    cmake --build "$build" -j2 >> "$build.log" 2>&1 || { cat "$build.log"; exit 1; }

# The library links what every Windows has.
others=$(x86_64-w64-mingw32-objdump -p "$build/librung.dll" | sed -n 's/.*DLL Name: //p' | grep -viE '^(kernel32|msvcrt)\.dll$')
[ -z "$others" ] || fail "librung.dll links $others"
# It shows the names of rung.h and no others.
shown=$(x86_64-w64-mingw32-objdump -p "$build/librung.dll" | sed -n '/Ordinal\/Name/,/^$/p' |
    sed -nE 's/^\s*\[ *[0-9]+\] //p' | sort)
declared=$(sed -n '/RUNG_API/,/;/p' "$RUNG_SOURCE/include/rung/rung.h" | grep -oE '\brung_[a-z0-9_]+\(' | tr -d '(' | sort -u)
[ "$shown" = "$declared" ] || { diff <(echo "$declared") <(echo "$shown"); fail "librung.dll and rung.h have different names"; }

"$RUNG_BUILD/examples/matmul" cpu > "$build/expected.txt" || fail "the example fails on this system"
wine "$build/matmul.exe" cpu 2> "$build/errors.txt" | tr -d '\r' > "$build/found.txt"
diff "$build/expected.txt" "$build/found.txt" || { cat "$build/errors.txt"; fail "the example prints something else"; }
echo "librung.dll: $(wc -w <<< "$shown") names; the example prints the same as here"
[ "$mode" = all ] || exit 0

printf '#!/bin/sh\nexec wine "%s/rung.exe" "$@"\n' "$build" > "$build/rung-on-wine"
chmod +x "$build/rung-on-wine"
types=f32,f64,f16,bf16,i8,i32,f32:f16,f32:bf16,f64:f32,f16:f32,bf16:f32
verify() {
    echo "rung verify --device cpu ${*:3}"
    RUNG=$build/rung-on-wine bash "$RUNG_SOURCE/tests/conform/verify.sh" cpu "$@" --dtype "$types" || exit 1
}
check_all() {
    wine --version
    "$build/rung-on-wine" devices | tr -d '\r'
    verify 3 900 --kernels 01,02,10,rung_gemm --suite types --every 9
    verify 6 1200 --kernels 04,06,07,08,09,10 --params tiny --suite types --every 9
    for isa in portable avx2 avx512; do
        export RUNG_CPU_ISA=$isa
        echo "RUNG_CPU_ISA=$isa"
        verify 3 600 --kernels 08,09,10 --params tiny --suite types --every 9
    done
    unset RUNG_CPU_ISA
    verify 1 250 --packed --kernels 10 --params tiny --suite types --every 9
}
check_all > "$build/output.txt" 2>&1
code=$?
cat "$build/output.txt"
[ $code -eq 0 ] || exit 1
if [ -n "$results" ]; then
    mkdir -p "$results"
    cp "$build/output.txt" "$results/verify.txt"
fi
