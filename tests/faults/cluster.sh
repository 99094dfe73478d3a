#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two MPI ranks multiply: each allocation of one rank fails once, and so does a part of the functions of MPI that the library calls. Both
# ranks return, name the rank and can go on. tools/fault-points runs all points of both modes.
set -u
program=$RUNG_BUILD/tests/faults/cluster_points
work=$(mktemp) && trap 'rm -f "$work"' EXIT

# run_points CLASSES LEAST SCENARIO FIRST COUNT EVERY: runs points of these classes (fault_calls.h), of which there are at least LEAST.
run_points() {
    RUNG_FAULTS_CLASSES=$1 "$program" "$3" once "$4" "$5" "$6" > "$work"
    local code=$? points
    [ $code -ne 77 ] || exit 77
    [ $code -eq 0 ] || {
        echo "$3:"
        grep -Ev '\s(reported|worked)\s' "$work"
        exit 1
    }
    points=$(wc -l < "$work")
    [ "$points" -ge "$2" ] || { echo "$3 has only $points points"; exit 1; }
}

for scenario in cluster_cyclic_rank_{0,1} cluster_blocks_rank_{0,1}; do
    run_points 1 100 "$scenario" 1 1000 1
done
run_points 32 1 cluster_blocks_rank_0 4 1 1 # while the communicator is duplicated: the other rank waits until the timeout
run_points 32 5 cluster_cyclic_rank_1 14 100 5
