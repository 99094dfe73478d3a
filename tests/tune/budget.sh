#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A time that is too short ends, decides nothing and says so; what cannot be kept is not looked for.
. "$(dirname "$0")/tune.sh"
started=$(date +%s)
trap '' CHLD # inherited, it must not matter
"$RUNG" tune --device opencl --sizes 8,32,128 --kernels 03 --budget 0.001 --state state.txt --json > out.json 2> out.err
[ $? -eq 77 ] || fail "a budget of nothing: exit code"
[ $(($(date +%s) - started)) -le 30 ] || fail "a budget of 1 ms took $(($(date +%s) - started)) s"
holds out.json '(.results | length) == 3 and all(.results[]; (.improved | not) and (.saved | not))'
holds out.json '.results[1:] | all(.why | test("no time is left"))'
[ ! -e config/rung/tuning ] || fail "something was saved"

# Nothing to export, and a store that cannot be written, before anything is tried.
"$RUNG" tune "${row[@]}" --kernels 03 --budget 0.001 --export for_others > out.err 2>&1
[ $? -eq 77 ] && grep -q "nothing to export" out.err || fail "an export of nothing"
rm -rf state
for store in . none/store; do
    "$RUNG" tune "${row[@]}" --kernels 03 --budget 60 --store "$store" > out.err 2>&1
    [ $? -eq 77 ] && grep -q "so no result could be saved" out.err || fail "a store at $store"
done
long=$(printf 'x%.0s' $(seq 80)).cu
cp "$RUNG_SOURCE/src/simt/kernels/03_coarsened.cu" "$long"
"$RUNG" tune "${row[@]}" --kernels "$long" --budget 60 > out.err 2>&1
[ $? -eq 2 ] && grep -q "maximum is 63 characters" out.err || fail "a name that does not fit"
"$RUNG" tune "${row[@]}" --kernels 03 --budget 60 --state "$(printf '/%.0s' $(seq 2000))x" > out.err 2>&1
[ $? -eq 2 ] && grep -q "state is too long" out.err || fail "a path that does not fit"
[ ! -e state ] || fail "it was searched all the same"
