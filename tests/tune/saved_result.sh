#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is found is verified, faster than the defaults, saved within the time, and taken by the
# next process without a flag; a search on other terms does not take its state.
. "$(dirname "$0")/tune.sh"
started=$(date +%s)
"$RUNG" tune "${row[@]}" --kernels 01,02,03,07 --budget 15 --json > out.json 2> out.err || fail "exit $?"
[ $(($(date +%s) - started)) -le 60 ] || fail "a budget of 15 s took $(($(date +%s) - started)) s"
holds out.json '.schema == "rung-tune/1" and (.results | length) == 1'
holds out.json '.results[0] | has("device") and has("driver") and has("key") and has("dtype") and has("m")
    and has("kernel") and has("params") and has("gflops") and has("default_kernel") and has("default_params")
    and has("default_gflops") and has("ratio") and has("tried") and has("refused") and has("seconds")'
holds out.json '.results[0].trials | length >= 4 and all(has("kernel") and has("params") and has("result") and has("ns"))'
holds out.json '.results[0] | .improved and .saved and .ratio > 1 and .wrong == 0 and .tried >= 4'
grep -q 'best 0' out.err || fail "no progress was told"
kernel=$(jq -r '.results[0].kernel' out.json) params=$(jq -r '.results[0].params' out.json)
"$RUNG" verify "${row[@]}" --kernels "$kernel" --params "$params" > verify.err || fail "the winner is wrong"

# Another process, nothing set.
RUNG_VERBOSE=1 "$RUNG" verify "${row[@]}" --kernels rung_gemm > verbose.err 2>&1 || fail "exit $?"
grep -q "rung/tuning:[0-9]*" verbose.err || fail "the store was not taken"
grep -q "$kernel" verbose.err || fail "another kernel was taken"

# What is faster than the defaults and slower than the record does not replace it.
before=$(sha256sum < config/rung/tuning)
"$RUNG" tune "${row[@]}" --kernels 02 --budget 10 --json > stays.json 2> stays.err || fail "exit $?"
holds stays.json '.results[0] | .record_stays and (.improved | not) and (.saved | not) and .ratio > 1'
holds stays.json ".results[0] | .kernel == \"$kernel\" and .params == \"$params\""
[ "$before" = "$(sha256sum < config/rung/tuning)" ] || fail "a record was replaced"

# A record that is slower than the defaults is removed, and the line says so. 01 cannot win here.
square=(--device opencl --m 200 --n 200 --k 200)
"$RUNG" tune "${square[@]}" --kernels 01 --budget 5 --store slow --json > key.json 2> key.err || fail "exit $?"
printf 'rung-tuning 1\n%s 01_naive BLOCK=16 9.999\n# mine\n' "$(jq -r '.results[0].key' key.json)" > slow
RUNG_TUNING=$PWD/slow RUNG_VERBOSE=1 "$RUNG" verify "${square[@]}" --kernels rung_gemm > planted.err 2>&1
grep -q "slow:2" planted.err || fail "the planted record is not taken"
"$RUNG" tune "${square[@]}" --kernels 01 --budget 5 --store slow --json > removed.json 2> removed.err || fail "exit $?"
holds removed.json '.results[0] | .record_removed and .record_ratio < 1 and (.saved or .improved or .record_stays | not)'
grep -q 'record 01_naive BLOCK=16 is removed' removed.err || fail "it was not told"
[ "$(cat slow)" = "$(printf 'rung-tuning 1\n# mine')" ] || fail "the record is still there, or more is gone"

# Removed by hand: the record of this problem, and no other.
cp config/rung/tuning copy
"$RUNG" tune "${row[@]}" --store copy --remove > by_hand.err || fail "exit $?"
grep -q '1x2048x64: removed 1 record$' by_hand.err && ! grep -q "$kernel" copy || fail "it was not removed"
"$RUNG" tune "${row[@]}" --store copy --remove > by_hand.err && fail "there was nothing to remove"
cp config/rung/tuning copy
"$RUNG" tune "${row[@]}" --store copy --remove --json > by_hand.json || fail "exit $?"
holds by_hand.json '.results[0] | .m == 1 and .removed == 1'

# Exported, and of two files the faster record.
"$RUNG" tune "${row[@]}" --kernels 03 --budget 10 --export for_others --json > again.json 2> again.err || fail "exit $?"
grep -q "$kernel" for_others || fail "the store was not exported"

# The state of this search is no other's.
state=$(echo state/rung/tune-*.txt)
"$RUNG" tune "${row[@]}" --kernels 03 --dtype f64 --budget 1 --state "$state" > f64.err 2>&1
[ $? -eq 77 ] && grep -q "another search" f64.err || fail "another type's state was taken"
