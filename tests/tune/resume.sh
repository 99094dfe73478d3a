#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run that is killed goes on where it was; a candidate that ends its process, or never ends,
# costs itself.
. "$(dirname "$0")/tune.sh"
state=(--state state.txt --store store)
"$RUNG" tune "${row[@]}" "${state[@]}" --kernels 01,02,03 --budget 60 --quiet > killed.err 2>&1 &
for _ in $(seq 300); do
    [ -e state.txt ] && [ "$(grep -c '^trying' state.txt)" -ge 5 ] && break
    sleep 0.1
done
kill -KILL $! && wait $! 2> /dev/null
before=$(grep -c '^trying' state.txt)
[ "$before" -ge 4 ] || fail "nothing was tried"
sleep 0.3 # the process that did the work goes with the one that watched it
printf 'trying\t1x2048x64\t03_coars' >> state.txt
"$RUNG" tune "${row[@]}" "${state[@]}" --kernels 01,02,03 --budget 3 --json > out.json 2> out.err || fail "exit $?"
tried_once state.txt
[ "$(grep -c '^trying' state.txt)" -gt "$before" ] || fail "it did not go on"
holds out.json '.results[0] | .improved and .saved'

# One setting of this kernel writes to nowhere, one loops for ever.
rm -f state.txt store store.lock
sed -e 's/if (row >= m)/if (BLOCK == 8) *(GLOBAL volatile int *)(size_t)(8 + n % 2) = 1;\n    while (BLOCK == 16 \&\& n > 0) ((GLOBAL volatile out_t *)c)[0] = 0;\n    if (row >= m)/' \
    "$RUNG_SOURCE/src/simt/kernels/03_coarsened.cu" > hostile.cu
grep -q 'BLOCK == 8' hostile.cu || fail "the bug was not planted"
"$RUNG" tune "${row[@]}" "${state[@]}" --kernels hostile.cu --budget 6 --json > out.json 2> out.err || fail "exit $?"
grep -q '^crashed.*BLOCK=8' state.txt || fail "no candidate has ended its process"
grep -q 'skipping this candidate' out.err || fail "it was not told"
tried_once state.txt
holds out.json '.results[0] | .crashed >= 1 and (.params | test("BLOCK=8|BLOCK=16") | not)'
