#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A time that is too short ends, decides nothing and says so; what is done by then counts.
. "$(dirname "$0")/tune.sh"
started=$(date +%s)
"$RUNG" tune --device opencl --sizes 8,32,128 --kernels 03 --budget 0.001 --state state.txt --json > out.json 2> out.err
[ $? -eq 77 ] || fail "a budget of nothing: exit code"
[ $(($(date +%s) - started)) -le 15 ] || fail "a budget of 1 ms took $(($(date +%s) - started)) s"
holds out.json '(.results | length) == 3 and all(.results[]; (.improved | not) and (.saved | not))'
holds out.json '.results[1:] | all(.why | test("no time is left for it"))'
[ ! -e config/rung/tuning ] || fail "something was saved"
