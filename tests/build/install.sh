#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs to a folder of its own and builds a program against it in each way that
# the README promises: pkg-config, the CMake package, and C++ for the header; and one that calls
# a BLAS, with the drop-in linked before it, preloaded, and in its place.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cmake --install "$RUNG_BUILD" --prefix "$work/usr" > "$work/log"
library=$(dirname "$(find "$work/usr" -name librung.so)")
export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library

# Every .pc file names the folders that it was installed with, by --prefix and by DESTDIR.
# check_pc ROOT: of the .pc files below it.
check_pc() {
    local root=$1 file name
    for file in "$root"/*/pkgconfig/*.pc "$root"/*/*/pkgconfig/*.pc; do
        [ -e "$file" ] || continue
        name=$(basename "$file" .pc)
        variable() { PKG_CONFIG_PATH=$(dirname "$file") pkg-config --variable="$1" "$name"; }
        [ "$(realpath "$(variable prefix)")" = "$(realpath "$root")" ] || { echo "$file: prefix is $(variable prefix)"; return 1; }
        [ -e "$(variable libdir)/lib$name.so" ] || { echo "$file: no lib$name.so in $(variable libdir)"; return 1; }
        [ -z "$(variable includedir)" ] || [ -e "$(variable includedir)/rung/rung.h" ] || { echo "$file: no rung/rung.h in $(variable includedir)"; return 1; }
        checked=$((checked + 1))
    done
}
checked=0
check_pc "$work/usr"
DESTDIR=$work/stage cmake --install "$RUNG_BUILD" --prefix /opt/rung > "$work/log"
check_pc "$work/stage/opt/rung"
[ "$checked" -eq $((2 * $(ls "$RUNG_BUILD"/*.pc | wc -l))) ]

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

# Large matrices, and clusters without MPI, by their own headers and pkg-config files.
if [ -e "$library/librung-outofcore.so" ]; then
    for language in c c++; do
        cc -x $language -Wall -Wextra -Wpedantic -Werror "$RUNG_SOURCE/tests/build/outofcore_program.c" -o "$work/large" $(pkg-config --cflags --libs rung-outofcore)
        [ "$("$work/large")" = "$expected" ]
    done
fi

# The emulator runs a kernel in PTX, by its own header and pkg-config file.
if [ -e "$library/librung-emulator.so" ]; then
    cat > "$work/emulate.c" <<'PROGRAM'
#include <rung/emulator.h>

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry twice(.param .u64 x)\n{\n"
                           "    .reg .b64 %rd<3>;\n    .reg .b32 %r<3>;\n"
                           "    ld.param.u64 %rd1, [x];\n    mov.u32 %r1, %tid.x;\n"
                           "    mul.wide.u32 %rd2, %r1, 4;\n    add.u64 %rd2, %rd2, %rd1;\n"
                           "    ld.global.u32 %r2, [%rd2];\n    add.u32 %r2, %r2, %r2;\n"
                           "    st.global.u32 [%rd2], %r2;\n    ret;\n}\n";

int main(void)
{
    int32_t               values[] = {2, 3};
    uint64_t              x = 0;
    rung_emulator        *emulator = NULL;
    rung_emulator_module *module = NULL;
    rung_emulator_kernel *kernel = NULL;
    void                 *arguments[] = {&x};
    rung_emulator_launch  launch = rung_emulator_launch_of(1, 2, arguments);
    rung_emulator_options options = rung_emulator_options_default();
    options.checks = RUNG_EMULATOR_CHECK_ALL;
    rung_emulator_create(&options, &emulator);
    rung_emulator_module_load(emulator, "twice.ptx", text, sizeof text - 1, &module);
    rung_emulator_kernel_find(module, "twice", &kernel);
    rung_emulator_allocate(emulator, sizeof values, "x", &x);
    rung_emulator_write(emulator, x, values, sizeof values);
    rung_status status = rung_emulator_launch_kernel(kernel, &launch);
    rung_emulator_read(emulator, x, values, sizeof values);
    printf("%s %d %d, %d findings\n", rung_status_text(status), values[0], values[1], (int)rung_emulator_finding_count(emulator));
    rung_emulator_destroy(emulator);
    return status != RUNG_OK;
}
PROGRAM
    for language in c c++; do
        cc -x $language -Wall -Wextra -Wpedantic -Werror "$work/emulate.c" -o "$work/emulate" $(pkg-config --cflags --libs rung-emulator)
        [ "$("$work/emulate")" = "success 4 6, 0 findings" ]
    done
fi

mkdir "$work/project"
cp "$work/hello.c" "$work/project"
cat > "$work/project/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.21)
project(hello C)
find_package(rung 0.2 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello PRIVATE rung::rung)
PROJECT
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/usr" > "$work/log"
cmake --build "$work/project/build" > "$work/log"
[ "$("$work/project/build/hello")" = "$expected" ]
# ... and each library as a component; one that is not installed is not found.
for component in outofcore cluster cluster-mpi emulator weights; do
    [ -e "$library/librung-$component.so" ] || continue
    sed "s/REQUIRED)/REQUIRED COMPONENTS $component)/; s/rung::rung/rung::$component/" "$work/project/CMakeLists.txt" > "$work/parts"
    mkdir -p "$work/$component" && cp "$work/parts" "$work/$component/CMakeLists.txt" && cp "$work/hello.c" "$work/$component"
    cmake -S "$work/$component" -B "$work/$component/build" -DCMAKE_PREFIX_PATH="$work/usr" > "$work/log"
    cmake --build "$work/$component/build" > "$work/log"
    [ "$("$work/$component/build/hello")" = "$expected" ]
done
sed -i "s/COMPONENTS [a-z-]*/COMPONENTS absent/" "$work/cluster/CMakeLists.txt"
! cmake -S "$work/cluster" -B "$work/cluster/other" -DCMAKE_PREFIX_PATH="$work/usr" > "$work/log" 2>&1

# sdot_ stays the BLAS's.
blas=$(find /usr/lib/*-linux-gnu/blas -name libblas.so.3 2> /dev/null | head -n 1)
if [ -e "$library/librung-blas.so" ] && [ -n "$blas" ]; then
    cat > "$work/dot.c" <<'PROGRAM'
#include <stddef.h>
#include <stdio.h>

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
#ifdef WHOLE
float sdot_(const int *, const float *, const int *, const float *, const int *);
#endif

int main(void)
{
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[4];
    cblas_sgemm(101, 111, 111, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2);
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
#ifdef WHOLE
    int six = 6, one = 1;
    printf("%g\n", sdot_(&six, a, &one, b, &one));
#endif
    return 0;
}
PROGRAM
    # served COMMAND ...: its results are right, and rung told of one multiply
    served() {
        env RUNG_VERBOSE=1 "$@" > "$work/out" 2> "$work/err"
        [ "$(head -n 1 "$work/out")" = "4 5 10 11" ] && [ "$(grep -c '^rung: cpu .* 2x2x3 f32' "$work/err")" -eq 1 ]
    }
    cc -DWHOLE "$work/dot.c" -o "$work/before" $(pkg-config --libs rung-blas) "$blas"
    served "$work/before"
    cc "$work/dot.c" -o "$work/instead" $(pkg-config --libs rung-blas)
    served "$work/instead"
    cc -DWHOLE "$work/dot.c" -o "$work/without" "$blas"
    export LD_LIBRARY_PATH=$(dirname "$blas") # and not ours: the drop-in finds librung beside itself
    served env LD_PRELOAD="$library/librung-blas.so" "$work/without"
    [ "$(sed -n 2p "$work/out")" = 16 ]
    export LD_LIBRARY_PATH=$library
    cat > "$work/project/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.21)
project(instead C)
find_package(rung 0.2 REQUIRED)
add_executable(instead ../dot.c)
target_link_libraries(instead PRIVATE rung::blas)
PROJECT
    cmake -S "$work/project" -B "$work/project/blas" -DCMAKE_PREFIX_PATH="$work/usr" > "$work/log"
    cmake --build "$work/project/blas" > "$work/log"
    served "$work/project/blas/instead"
fi

# ldconfig finds no driver beside the libraries: the emulated one is only for programs of rung emulate.
PATH=$PATH:/sbin:/usr/sbin ldconfig -n "$library"
[ ! -e "$library/libcuda.so.1" ] || { echo "ldconfig makes the emulated driver the one of all programs"; exit 1; }

unset LD_LIBRARY_PATH # the command finds its library by itself
[ "$("$work/usr/bin/rung" --version)" = "rung $(pkg-config --modversion rung)" ]
# ... its manual and its completion,
for page in rung rung-bench rung-help; do
    cmp "$work/usr/share/man/man1/$page.1" "$RUNG_BUILD/man1/$page.1"
done
[ "$(bash -c '. "$0" && complete -p rung' "$work/usr/share/bash-completion/completions/rung")" = "complete -F _rung rung" ]
# ... the clusters that it was installed with, and that it was staged with,
for root in "$work/usr" "$work/stage/opt/rung"; do
    (cd "$work" && LD_LIBRARY_PATH=$library "$root/bin/rung" plan --machine dgx-a100 --m 20000 --ranks 64 --dtype f64) | grep 'of peak'
done
# ... and the tasks, without the references that are compiled into it.
"$work/usr/bin/rung" tasks | grep vector_add
(cd "$work" && LD_LIBRARY_PATH=$library "$work/stage/opt/rung/bin/rung" tasks vector_add --source) | grep -q '__global__ void vector_add'
[ -e "$work/usr/share/rung/tasks/scan/README.md" ] && [ ! -e "$work/usr/share/rung/tasks/scan/reference.c" ]
find "$work/usr" -type f | sed "s,$work,," | sort
