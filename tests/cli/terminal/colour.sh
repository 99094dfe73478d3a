#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Colour on a terminal alone, never where it is not wanted, and never instead of words or columns.
. "$(dirname "$0")/terminal.sh"
export RUNG_CPU_VENDOR=/nowhere/libblas.so # so that a kernel is refused
bench="'$RUNG' bench --device cpu --kernels 00,01,02 --sizes 16 --budget 0.02 --quiet"
has() { grep -q "$escape" out.txt; }

on_terminal 200 "$bench" > out.txt
grep -q "^$escape\[31m00_vendor .*opened.*$escape\[0m" out.txt || fail "what is refused is not red"
[ "$(grep -c "^$escape\[1m0[12]_[a-z]* " out.txt)" -eq 1 ] || fail "there is not one best kernel"
on_terminal 200 "'$RUNG' bench --device cpu --kernels 01 --sizes 32,2000 --budget 0.01 --quiet" > out.txt
grep -q "^$escape\[33m01_naive .*skipped: " out.txt || fail "what is skipped is not yellow"
on_terminal 200 "NO_COLOR= $bench" > out.txt; has || fail "an empty NO_COLOR says nothing"

on_terminal 200 "NO_COLOR=1 $bench" > out.txt; has && fail "colour in spite of NO_COLOR"
on_terminal 200 "TERM=dumb $bench" > out.txt; has && fail "colour on a dumb terminal"
on_terminal 200 "$bench --color never" > out.txt; has && fail "colour in spite of --color never"
on_terminal 200 "$bench --json" > out.txt; has && fail "colour in JSON"
bash -c "$bench" > out.txt; has && fail "colour in a pipe"
bash -c "$bench --color always" > out.txt; has || fail "no colour in spite of --color always"
NO_COLOR=1 bash -c "$bench --color always" > out.txt; has || fail "an option says more than the environment"
bash -c "$bench --json --color always" > out.txt; has && fail "colour in JSON, always"

# Columns are where they are without it.
verify=("$RUNG" verify --device cpu --kernels 00,01 --m 4)
"${verify[@]}" > plain.txt
"${verify[@]}" --color always > out.txt
has || fail "verify has no colour"
sed "s/$escape\[[0-9]*m//g" out.txt | cmp - plain.txt || fail "columns move with colour"

# A wrong result is told in words, and in red.
if "$RUNG" verify --device opencl --m 1 > /dev/null 2>&1; then
    sed 's/i < k; i++/i < k - 1; i++/' "$RUNG_SOURCE/src/simt/kernels/01_naive.cu" > wrong.cu
    "$RUNG" verify wrong.cu --m 2 --k 3 --color always > out.txt
    grep -q "^$escape\[31mwrong$escape\[0m: " out.txt || fail "wrong is not red"
    "$RUNG" bench wrong.cu 16 --device opencl --color always > out.txt
    grep -q "^$escape\[31mwrong.cu .*WRONG: " out.txt || fail "WRONG is not red"
fi
exit 0
