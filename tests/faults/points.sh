#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every call that can fail, fails once in each scenario of the CPU: points.sh MODE SCENARIO ... runs all points of these scenarios.
set -u
program=$RUNG_BUILD/tests/faults/fault_points
mode=$1
shift
work=$(mktemp) && trap 'rm -f "$work"' EXIT
for scenario; do
    "$program" "$scenario" "$mode" > "$work" || {
        echo "$scenario, $mode:"
        grep -Ev '\s(reported|worked)\s' "$work"
        exit 1
    }
    points=$(wc -l < "$work")
    [ "$points" -ge 100 ] || { echo "$scenario has only $points points"; exit 1; }
done
