#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# When memory ends, a command says so, and does not report an unknown device; rung verify still runs the other problems, and an exit
# code that is not 0 comes with a sentence. tools/fault-points runs all points of more commands.
set -u
count=0
for n in $(seq 1 60); do
    text=$(LD_PRELOAD=$RUNG_BUILD/tests/faults/libfault_calls.so RUNG_FAULTS_AT=$n "$RUNG" kernels 2>&1 > /dev/null) && continue
    grep -q 'out of memory' <<< "$text" || { echo "call $n of rung kernels failed: $text"; exit 1; }
    count=$((count + 1))
done
[ $count -ge 3 ] || { echo "only $count calls failed"; exit 1; }

count=0
for n in $(seq 80 4 400); do
    document=$(LD_PRELOAD=$RUNG_BUILD/tests/faults/libfault_calls.so RUNG_FAULTS_AT=$n \
        "$RUNG" verify --device cpu --kernels 02 --m 9 --threads 1 --json 2> /tmp/rung-verify-$$)
    code=$?
    text=$(cat /tmp/rung-verify-$$; rm -f /tmp/rung-verify-$$)
    [ $code -eq 0 ] || [ -n "$text" ] || { echo "call $n of rung verify failed without a sentence: exit code $code"; exit 1; }
    grep -q '"skipped": [1-9]' <<< "$document" || continue
    grep -q '"cases": 4,' <<< "$document" || { echo "call $n failed, and rung verify did not run all problems: $document"; exit 1; }
    count=$((count + 1))
done
[ $count -ge 1 ] || { echo "no problem of rung verify met a failure"; exit 1; }
