#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The static libraries (BUILD_SHARED_LIBS=OFF): programs link them by pkg-config --static and by find_package, and run
# without the shared ones. build_install does the same with the shared libraries.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cmake -G 'Unix Makefiles' -S "$RUNG_SOURCE" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$RUNG_BUILD/CMakeCache.txt")" \
    -DBUILD_SHARED_LIBS=OFF -DRUNG_TESTS=OFF -DRUNG_EXAMPLES=OFF -DRUNG_LAB=OFF -DRUNG_IMAGES=OFF -DRUNG_MPI=OFF \
    -DRUNG_WERROR="$(sed -n 's/^RUNG_WERROR:BOOL=//p' "$RUNG_BUILD/CMakeCache.txt")" > "$work/log" || { cat "$work/log"; exit 1; }
# Both kinds of libraries have the same objects: make takes those of this build and compiles none. (Ninja would compile all, since
# its log does not have them.)
(cd "$RUNG_BUILD" && find . -path '*.dir/*.o' \( -path '*_objects.dir/*' -o -path '*rung_executors_*' \) | tar -c -T -) | tar -x -m -C "$work/build"
cmake --build "$work/build" --target rung_library rung_outofcore rung_cluster rung_emulator rung_weights -j 2 > "$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
echo "$(grep -c 'Building C object' "$work/log" || true) objects compiled"
cmake --build "$work/build" -j 2 > "$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
cmake --install "$work/build" --prefix "$work/usr" > "$work/log"
library=$(dirname "$(find "$work/usr" -name librung.a)")
export PKG_CONFIG_PATH=$library/pkgconfig
[ ! -e "$library/librung.so" ] || { echo "a shared librung is installed, too"; exit 1; }

cp "$RUNG_SOURCE/tests/build/outofcore_program.c" "$work/hello.c"
# is_right PROGRAM: it computes the right result, and links no library of rung at run time.
is_right() {
    [ "$("$1")" = "success 4 5 10 11" ] || { echo "$1 prints '$("$1")'"; return 1; }
    ! ldd "$1" | grep librung || { echo "$1 links a shared library of rung"; return 1; }
}
cc -Wall -Wextra -Werror "$work/hello.c" -o "$work/by_pkg_config" $(pkg-config --static --cflags --libs rung-outofcore)
is_right "$work/by_pkg_config"

mkdir "$work/project"
cat > "$work/project/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.21)
project(hello C)
find_package(rung 0.2 REQUIRED COMPONENTS outofcore cluster emulator weights)
add_executable(hello ../hello.c)
target_link_libraries(hello PRIVATE rung::outofcore rung::cluster rung::emulator rung::weights)
PROJECT
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/usr" > "$work/log"
cmake --build "$work/project/build" > "$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
is_right "$work/project/build/hello"

# The drop-in is a shared library that contains librung.
if [ -e "$library/librung-blas.so" ]; then
    ! readelf -d "$library/librung-blas.so" | grep 'NEEDED.*librung' || { echo "librung-blas needs a shared librung"; exit 1; }
fi
du -k "$library"/*.a | sed "s,$library/,,"
