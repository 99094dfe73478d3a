#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs to a folder of its own and builds a program against it in each way that
# the README promises: pkg-config, the CMake package, and C++ for the header.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cmake --install "$RUNG_BUILD" --prefix "$work/usr" > "$work/log"
library=$(dirname "$(find "$work/usr" -name librung.so)")
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library

cat > "$work/hello.c" <<'PROGRAM'
#include <rung/rung.h>
#include <stdio.h>

int main(void)
{
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[4];
    rung_status status = rung_gemm(NULL, 1.0, rung_matrix_of(RUNG_F32, 2, 3, a),
                                   rung_matrix_of(RUNG_F32, 3, 2, b), 0.0,
                                   rung_matrix_of(RUNG_F32, 2, 2, c));
    printf("%s %g %g %g %g\n", rung_status_text(status), c[0], c[1], c[2], c[3]);
    return status != RUNG_OK;
}
PROGRAM
expected="success 4 5 10 11"

flags=$(pkg-config --cflags --libs rung)
cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$work/hello.c" -o "$work/hello" $flags
[ "$("$work/hello")" = "$expected" ]

c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -x c++ "$work/hello.c" -o "$work/hello++" $flags
[ "$("$work/hello++")" = "$expected" ]

mkdir "$work/project"
cp "$work/hello.c" "$work/project"
cat > "$work/project/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.21)
project(hello C)
find_package(rung 0.1 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello PRIVATE rung::rung)
PROJECT
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/usr" > "$work/log"
cmake --build "$work/project/build" > "$work/log"
[ "$("$work/project/build/hello")" = "$expected" ]

unset LD_LIBRARY_PATH # the command finds its library by itself
[ "$("$work/usr/bin/rung" --version)" = "rung $(pkg-config --modversion rung)" ]
# ... and its microscope, if there is one.
if [ -e "$RUNG_BUILD/rung_microscope.so" ]; then
    OCL_ICD_VENDORS=$work "$work/usr/bin/rung" doctor | grep "microscope: $work/usr/"
fi
find "$work/usr" -type f | sed "s,$work,," | sort
