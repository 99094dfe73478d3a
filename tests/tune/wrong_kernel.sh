#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A kernel that is wrong is not timed; one that is wrong elsewhere wins nothing, however fast.
. "$(dirname "$0")/tune.sh"
source=$RUNG_SOURCE/src/simt/kernels/03_coarsened.cu
state=(--state state.txt --store store)
sed 's/i < k; i++/i < k - 1; i++/' "$source" > wrong.cu
"$RUNG" tune "${row[@]}" "${state[@]}" --kernels wrong.cu --budget 10 --json > out.json 2> out.err
[ $? -eq 1 ] || fail "a wrong kernel's exit code"
holds out.json '.results[0] | .wrong >= 1 and (.improved | not) and (.saved | not)'
grep -q '^timed.*wrong.cu' state.txt && fail "a wrong kernel was timed"

# Right where it is tuned, wrong where n is odd.
rm state.txt
sed 's/store(&c\[at/if (n % 2 == 0) store(\&c[at/' "$source" > edge.cu
grep -q 'n % 2' edge.cu || fail "the bug was not planted"
"$RUNG" tune "${row[@]}" "${state[@]}" --kernels edge.cu --budget 12 --json > out.json 2> out.err
[ $? -eq 1 ] || fail "a kernel that is wrong elsewhere: exit code"
grep -q '^timed.*edge.cu' state.txt || fail "it should have been right where it was tuned"
grep -q 'edge.cu .* is not saved: element' out.err || fail "it was not told"
holds out.json '.results[0] | .wrong >= 1 and (.improved | not) and (.saved | not)'
[ ! -e store ] || fail "something was saved"
