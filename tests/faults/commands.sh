#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# When memory ends, a command says so, and does not report an unknown device. tools/fault-points runs all points of more commands.
set -u
count=0
for n in $(seq 1 60); do
    text=$(LD_PRELOAD=$RUNG_BUILD/tests/faults/libfault_calls.so RUNG_FAULTS_AT=$n "$RUNG" kernels 2>&1 > /dev/null) && continue
    grep -q 'out of memory' <<< "$text" || { echo "call $n of rung kernels failed: $text"; exit 1; }
    count=$((count + 1))
done
[ $count -ge 3 ] || { echo "only $count calls failed"; exit 1; }
