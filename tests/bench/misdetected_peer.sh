#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A library that takes this processor for an old one is told of and compared with nowhere; where
# the user has left that to the lab it is told better before it is loaded. Debian's OpenBLAS
# does so by itself on processors newer than it is, and here because it is told to.
set -u
library=/usr/lib/$(uname -m)-linux-gnu/openblas-pthread/libopenblas.so.0
grep -qE 'avx2' /proc/cpuinfo || { echo "no AVX2 here, and so nothing to lose"; exit 0; }
[ -e "$library" ] || { echo "libopenblas0-pthread is not here"; exit 77; }
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
unset OPENBLAS_CORETYPE BLIS_ARCH_TYPE
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0

# shows WHAT FILTER VARIABLE=VALUE...: the JSON of a short benchmark with these set.
shows() {
    local what=$1 filter=$2; shift 2
    env "$@" "$RUNG" bench --device cpu --kernels 00,01 --peers openblas,blis --threads 1 --sizes 64 --budget 0.02 \
        --json > "$work/out" 2> "$work/errors" || { echo "$what: exit $?"; cat "$work/errors"; bad=1; return; }
    jq -e 'def row(name): .results[] | select(.kernel == name);'"$filter" "$work/out" > "$work/shown" ||
        { echo "$what:"; cat "$work/out"; bad=1; }
}
shows "OpenBLAS by an old core" '
    row("00_vendor:openblas") as $it | row("01_naive") as $ours |
    ($it.library | test("OpenBLAS")) and ($it.doubt | test("uses its kernels for [A-Za-z]+, an older processor; set OPENBLAS_CORETYPE="))
    and $it.verified and $it.median_ns > 0 and $it.percent_of_best_peer == null and $it.percent_of_vendor == null
    and $ours.best_peer != "00_vendor:openblas"
    and (row("00_vendor") | .doubt == $it.doubt) and $ours.percent_of_vendor == null
    and ([.settings[].name] | index("OPENBLAS_CORETYPE") == null)' \
    RUNG_CPU_VENDOR="$library" OPENBLAS_CORETYPE=Prescott
shows "OpenBLAS left to the lab" '
    row("00_vendor:openblas") as $it | row("01_naive") as $ours |
    $it.doubt == "" and $it.percent_of_best_peer > 0 and $ours.percent_of_vendor > 0 and $ours.percent_of_best_peer > 0
    and ([.settings[] | select(.name == "OPENBLAS_CORETYPE") | .why | test("without it OpenBLAS uses its kernels for")] | all)' \
    RUNG_CPU_VENDOR="$library"
shows "BLIS left to the lab" 'row("00_vendor:blis") | .doubt == "" and .percent_of_best_peer > 0' RUNG_CPU_VENDOR=blis

# The table tells the same.
RUNG_CPU_VENDOR=$library OPENBLAS_CORETYPE=Prescott "$RUNG" bench --device cpu --kernels 01 --peers openblas --threads 1 \
    --sizes 64 --budget 0.02 > "$work/out"
grep -qE '^OpenBLAS [0-9.]+ is excluded from comparisons: OpenBLAS uses its kernels for ' "$work/out" ||
    { echo "the table does not tell"; cat "$work/out"; bad=1; }
exit $bad
