#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The CPU's vendors, each by its name, are right wherever they are not refused, by the same oracle
# as our own kernels: what is compared must compute the same. In one process after another, and
# all in one.
set -u
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
unset RUNG_CPU_VENDOR
# The leak sanitizer now and then falls over the threads that these libraries leave; cpu_peers looks for our leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
complain() { echo "$*"; cat "$work/out"; bad=1; }

# verify TYPES KERNELS OPTION...: none wrong, and of each kernel and type more than 60 ran.
verify() {
    local types=$1 kernels=$2; shift 2
    "$RUNG" verify --device cpu --kernels "$kernels" --dtype "$types" --suite quick --json "$@" > "$work/out" 2>&1 ||
        { grep "was not found; install" "$work/out" && exit 77 # tools/install-test-tools brings them
          complain "$kernels $types: it fails"; return; }
    jq -c '.by_kernel[] | [.kernel, .dtype, .cases, .wrong, .skipped, .why_skipped]' "$work/out"
    jq -e '.wrong == 0 and ([.by_kernel[] | .cases - .skipped > 60] | all)' "$work/out" > "$work/shown" ||
        complain "$kernels $types: wrong, or too little was run"
}

whole=$(grep -qE 'avx512_vnni' /proc/cpuinfo && echo ,i8)
verify f32,f64,bf16:f32$whole 00_vendor:mkl
verify f32,f64 00_vendor:openblas
verify f32,f64 00_vendor:blis
verify f32,bf16:f32$whole 00_vendor:onednn
verify f32 00_vendor:mkl,00_vendor:openblas,00_vendor:blis,00_vendor:onednn,00_vendor
# MKL's bytes want sums of B's columns, which are taken piece by piece.
[ -z "$whole" ] || for strides in 700,1 1,1000; do
    "$RUNG" verify --device cpu --kernels 00_vendor:mkl --dtype i8 --m 5 --n 700 --k 1000 --b-strides $strides --json \
        > "$work/out" && jq -e '.wrong == 0 and .skipped == 0' "$work/out" > "$work/shown" ||
        complain "00_vendor:mkl: long sums, $strides"
done
exit $bad
