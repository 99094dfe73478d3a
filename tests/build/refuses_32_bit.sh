#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A compiler with 32-bit pointers is refused, with a sentence that says what to do: sizes and offsets have 64 bits.
set -u
[ "$(uname -m)" = x86_64 ] || { echo "-m32 and -mx32 are options for x86_64"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
for option in -m32 -mx32; do
    # A static library needs no C library of that kind for CMake's own checks.
    cmake -S "$RUNG_SOURCE" -B "$work/$option" -DCMAKE_C_COMPILER=gcc -DCMAKE_C_FLAGS=$option -DRUNG_TESTS=OFF \
        -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY > "$work/output" 2>&1 && { echo "$option is accepted"; bad=1; }
    tr -s ' \n' ' ' < "$work/output" | grep -qF "this one has 32-bit pointers. Remove -m32 or -mx32" ||
        { cat "$work/output"; echo "$option is not refused by the sentence of CMakeLists.txt"; bad=1; }
done
exit $bad
