#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CLBlast takes what its tuners found, it is told, and a file that is none is refused.
. "$(dirname "$0")/tune.sh"
bench=("$RUNG" bench --device opencl --kernels 00 --sizes 64 --budget 0.05 --json)
"${bench[@]}" > plain.json
grep -q "libclblast.so.1 was not found" plain.json && exit 77
holds plain.json '.results[0] | .verified and (.vendor_tuned | not)'
found=$RUNG_SOURCE/results/xeon-pocl/clblast.txt
RUNG_CLBLAST_TUNING=$found "${bench[@]}" > tuned.json || fail "exit $?"
holds tuned.json '.results[0] | .verified and .vendor_tuned and (.origin | test("clblast.txt"))'
refused() {
    printf '%s' "$1" > bad.txt
    RUNG_CLBLAST_TUNING=bad.txt "${bench[@]}" > bad.json
    holds bad.json ".results[0] | (.verified | not) and (.why_not | test(\"$2\"))"
}
refused 'Xgemm MWG=x
' 'bad.txt:1 is not like'
refused '# a comment
Xgemm MWG=64
' 'bad.txt:2 is refused by CLBlast'
refused 'Xgemm MWG=64' 'has no end'
refused '# nothing else
' 'no parameters were before it'
refused '' 'no parameters were before it'
refused 'Xgemm
' 'bad.txt:1 is not like'
# Line 1 alone is refused by CLBlast: that line 2 is told of shows that all is read before any is handed on.
refused 'Xgemm MWG=64
Xgemm MWG=x
' 'bad.txt:2 is not like'
RUNG_CLBLAST_TUNING=$work "${bench[@]}" > bad.json
holds bad.json '.results[0].why_not | test("cannot read")'
RUNG_CLBLAST_TUNING=missing.txt "${bench[@]}" > bad.json
holds bad.json '.results[0].why_not | test("cannot read")'
