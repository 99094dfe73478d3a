#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# windows_commands.sh FOLDER: commands of $RUNG, which runs on Wine, work in an empty folder FOLDER, or fail with a sentence that
# says what to do. rung verify is tested by windows.sh.
set -u
source=${RUNG_SOURCE:?} folder=$1
rm -rf "$folder"
mkdir -p "$folder" && cd "$folder" || exit 1
failures=0
# run CODE TEXT ARGUMENT...: the command must exit with CODE and print TEXT, an extended regular expression.
run() {
    local wanted=$1 text=$2 code
    shift 2
    "$RUNG" "$@" > output.txt 2>&1
    code=$?
    if [ $code -eq "$wanted" ] && tr -d '\r' < output.txt | tr -s '\n ' ' ' | grep -qE "$text"; then
        echo "rung $*: exits with $code, prints \"$text\""
    else
        echo "rung $* exits with $code instead of $wanted, or does not print \"$text\":"
        cat output.txt
        failures=$((failures + 1))
    fi
}
# write_npy FILE ROWS COLUMNS: an F32 matrix of ones.
write_npy() {
    local header
    header=$(printf "%-117s" "{'descr': '<f4', 'fortran_order': False, 'shape': ($2, $3), }")
    { printf '\x93NUMPY\x01\x00\x76\x00%s\n' "$header"; for _ in $(seq $(($2 * $3))); do printf '\x00\x00\x80\x3f'; done; } > "$1"
}
write_npy a.npy 3 4
write_npy b.npy 4 5
cp "$source/tests/check/add.ptx" "$source/examples/cuda/tiled.cu" .

run 0 'cpu +works' doctor
run 0 '10_pipeline' kernels
run 0 '10_pipeline .* GFLOPS|GFLOPS .*10_pipeline' bench --device cpu --kernels 10 --sizes 64 --budget 0.2
run 0 'checked all 15 elements' multiply a.npy b.npy -o c.npy
[ "$(tail -c 60 c.npy | od -An -v -tf4 | tr -d ' \n')" = 444444444444444 ] ||
    { echo "c.npy does not have 15 elements of value 4"; failures=$((failures + 1)); }
run 0 '64x64x64 +10_pipeline' tune --device cpu --kernels 10 --sizes 64 --budget 2 --store store --state state
run 0 'findings none' check add.ptx
run 1 'out-of-bounds' check add.ptx --launch 'kernel=add grid=2 block=64 p0=f32[100] p1=f32[100] p2=f32[64] p3=128 p4=1'
needs_linux='run the command on Linux, or on Windows in WSL'
run 2 "$needs_linux" verify tiled.cu
run 1 "$needs_linux" explain tiled.cu
run 77 "$needs_linux" report --device cpu --output page.html
run 2 'this library has cpu' explain 04 --arch sm_86
[ $failures -eq 0 ]
