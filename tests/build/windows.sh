#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# windows.sh syntax|library|all [RESULTS]: builds for Windows with mingw-w64 and runs what it built with Wine.
#
# syntax: checks that the files compile. It writes no code, needs no Wine, and leaves out kernels, which take most of the time.
# library: the library and one example, which must print what the build for this system prints. It is compiled with little
# optimization, to save time.
# all: the libraries, the command and the unit tests. The unit tests with the label quick must pass. rung verify must find all
# CPU kernels right, for each instruction set that Wine can use. Other commands must work, or say what to do. The output goes
# to RESULTS.
set -u
mode=$1 results=${2:-}
for tool in x86_64-w64-mingw32-gcc-posix jq $([ "$mode" = syntax ] || echo wine curl); do
    command -v $tool > /dev/null || { echo "$tool is not installed (Debian: gcc-mingw-w64-x86-64-posix wine wine64 jq curl)"; exit 77; }
done
build=$RUNG_BUILD/windows-$mode
export WINEPREFIX=$build/wine WINEDEBUG=-all
fail() {
    echo "$1"
    exit 1
}
case $mode in
library) options="-DRUNG_LAB=OFF -DRUNG_OUTOFCORE=OFF -DRUNG_CLUSTER=OFF -DRUNG_EMULATOR=OFF -DCMAKE_C_FLAGS_RELEASE=-O1" ;;
syntax | all) options= ;;
*) fail "windows.sh: mode $mode is unknown; use syntax, library or all" ;;
esac
# Runs the compiler on every file without its output. The texts that the build embeds are those of the build for this system.
if [ "$mode" = syntax ]; then
    cmake -S "$RUNG_SOURCE" -B "$build" --toolchain "$RUNG_SOURCE/cmake/windows.cmake" -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF \
        -DRUNG_TESTS=OFF -DRUNG_WERROR=ON -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > "$build.log" 2>&1 ||
        { cat "$build.log"; exit 1; }
    jq -r '.[] | select(.file | test("/(cpu_kernels|microkernels|execute|embedded)/") | not) | "cd \(.directory) && \(.command)"' \
        "$build/compile_commands.json" |
        sed -E "s| -o [^ ]+ -c | -I$RUNG_BUILD/embedded -I$RUNG_BUILD/embedded/lab -O0 -fsyntax-only |" |
        sort -u > "$build/commands.txt"
    [ "$(wc -l < "$build/commands.txt")" -gt 300 ] || fail "$build/commands.txt has fewer files than the project"
    cd "$build" || exit 1
    failures=0
    while read -r command; do
        (eval "$command") || failures=$((failures + 1))
    done < commands.txt
    [ $failures -eq 0 ] || fail "$failures files do not compile for Windows: see src/base/windows/posix.h"
    echo "$(wc -l < commands.txt) files compile for Windows"
    exit 0
fi
# Builds cmocka, which Debian does not have for mingw-w64, from Debian's source.
build_cmocka() {
    local sum=f0ccd8242d55e2fd74b16ba518359151f6f8383ff8aef4976e48393f77bba8b6
    local file=cmocka_1.1.5.orig.tar.xz source=$1/cmocka-1.1.5
    mkdir -p "$1" || return 1
    [ -f "$1/$file" ] || curl -sfo "$1/$file" "http://deb.debian.org/debian/pool/main/c/cmocka/$file" ||
        { echo "$file cannot be downloaded from deb.debian.org"; exit 77; }
    sha256sum --check --quiet <<< "$sum  $1/$file" && tar -xJf "$1/$file" -C "$1" || return 1
    x86_64-w64-mingw32-gcc-posix -O1 -D__USE_MINGW_ANSI_STDIO=1 -DHAVE_MALLOC_H -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H \
        -DHAVE_STRINGS_H -DHAVE_GCC_THREAD_LOCAL_STORAGE -DHAVE_STRUCT_TIMESPEC -I "$source/include" -c "$source/src/cmocka.c" \
        -o "$1/cmocka.o" && x86_64-w64-mingw32-ar rcs "$1/libcmocka.a" "$1/cmocka.o"
}
tests=OFF
if [ "$mode" = all ]; then
    build_cmocka "$build/cmocka" || fail "cmocka cannot be built"
    tests=ON
    options="-DCMOCKA_INCLUDE=$build/cmocka/cmocka-1.1.5/include -DCMOCKA_LIBRARY=$build/cmocka/libcmocka.a"
fi
cmake -S "$RUNG_SOURCE" -B "$build" --toolchain "$RUNG_SOURCE/cmake/windows.cmake" -DRUNG_OPENCL=OFF -DRUNG_CUDA=OFF \
    -DRUNG_TESTS=$tests -DRUNG_EXAMPLES=ON -DRUNG_WERROR=ON $options > "$build.log" 2>&1 &&
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

# Wine runs the unit tests. Other tests are shell scripts, which start programs of this system.
unit_tests() {
    local names
    names=$(ctest --test-dir "$build" -L quick --show-only=json-v1 |
        jq -r '.tests[] | select((.command[0] // "") | endswith("wine")) | .name' | paste -sd'|')
    [ -n "$names" ] || return 1
    ctest --test-dir "$build" -L quick -R "^($names)\$" --timeout 900 --output-on-failure
}
unit_tests > "$build/unit_tests.log" 2>&1 || { cat "$build/unit_tests.log"; fail "unit tests fail on Wine"; }
sed -nE 's|^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([a-z0-9_]+) \.+ *\*{0,3}([A-Za-z]+).*|\1: \2|p' "$build/unit_tests.log" | sort \
    > "$build/unit_tests.txt"
echo "unit tests: $(grep -c ': Passed' "$build/unit_tests.txt") passed, $(grep -c ': Skipped' "$build/unit_tests.txt") skipped"

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
RUNG=$build/rung-on-wine bash "$RUNG_SOURCE/tests/build/windows_commands.sh" "$build/commands" > "$build/commands.txt" 2>&1
code=$?
cat "$build/commands.txt"
[ $code -eq 0 ] || exit 1
if [ -n "$results" ]; then
    mkdir -p "$results"
    cp "$build/output.txt" "$results/verify.txt"
    cp "$build/unit_tests.txt" "$build/commands.txt" "$results"
fi
