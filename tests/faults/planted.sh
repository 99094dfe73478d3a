#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fault_points finds bugs of each kind: a missing check, what is left after a failure, a status that is not true, calls that fail from
# then on, and calls that do not end. The name of a scenario begins with the outcome that it must have.
set -u
program=$RUNG_BUILD/tests/faults/fault_points
export RUNG_FAULTS_SECONDS=1
count=0
while read -r scenario need; do
    [ "$need" = planted ] || continue
    outcomes=$("$program" "$scenario" once) && { echo "$scenario was not found"; exit 1; }
    cut -f 3 <<< "$outcomes" | grep -qx "${scenario%%_*}" || { echo "$scenario:"; echo "$outcomes"; exit 1; }
    count=$((count + 1))
done < <("$program" list)
[ $count -ge 9 ] || { echo "only $count planted bugs"; exit 1; }
