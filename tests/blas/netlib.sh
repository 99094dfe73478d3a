#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# netlib.sh - Netlib's own tests of level 3 (Debian's libblas-test), Fortran's and CBLAS's, error
# exits and row-major order included: gemm goes to rung, the others to the reference behind it.
set -u
. "$(dirname "$0")/preload.sh"
[ -x "$netlib/xblat3s" ] && [ -x "$netlib/xscblat3" ] || { echo "libblas-test is not here"; exit 77; }
export LD_LIBRARY_PATH=$netlib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} RUNG_VERBOSE=1
cd "$work" || exit 1

# check PROGRAM INPUT OUTPUT-FILE ROUTINE CALLS PASSES: all its tests pass, and rung tells of as many
# multiplies as there were calls with something to do.
check() {
    preload "$ours" "$netlib/$1" < "$netlib/$2" > out 2> err || { cat out; tail -n 5 err; wrong "$1 failed"; }
    [ -z "$3" ] || cat "$3" >> out
    grep -iE 'fail|suspect|\*\*\*|not detected|abandoned|error' out | grep -vi 'error-exits' &&
        wrong "$1 found something"
    grep -q "$4 *PASSED THE TESTS OF ERROR-EXITS" out || { cat out; wrong "$1: no error exits of $4"; }
    [ "$(grep -c 'PASSED THE' out)" -eq "$6" ] || { cat out; wrong "$1: not all tests ran"; }
    served=$(grep -cE "^rung: cpu [0-9a-z_]+ .* $5 [0-9.]+ ms" err)
    [ "$served" -ge 10000 ] || wrong "$1: rung served $served calls"
    grep -v '^rung: cpu ' err && wrong "$1: something else was printed"
    echo "$1: passed, rung served $served"
}
check xblat3s sblat3.in sblat3.out SGEMM f32 12
check xblat3d dblat3.in dblat3.out DGEMM f64 12
check xscblat3 sin3 "" cblas_sgemm f32 18
check xdcblat3 din3 "" cblas_dgemm f64 18
