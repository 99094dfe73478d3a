#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# planted.sh PROGRAM COUNT: fault_points, or cluster_points, finds COUNT bugs of each kind: a missing check, what is left after a failure,
# a status that is not true, calls that fail from then on, and calls that do not end. The name of a scenario begins with the outcome
# that it must have.
set -u
program=$RUNG_BUILD/tests/faults/$1
export RUNG_FAULTS_SECONDS=5 # a busy machine may be slow
export RUNG_FAULTS_CLASSES=1 # of cluster_points: the bugs are in calls of malloc
count=0
while read -r scenario need; do
    [ "$need" = planted ] || continue
    outcomes=$("$program" "$scenario" once 1 40) && { echo "$scenario was not found"; exit 1; }
    cut -f 3 <<< "$outcomes" | grep -qx "${scenario%%_*}" || { echo "$scenario:"; echo "$outcomes"; exit 1; }
    count=$((count + 1))
done < <("$program" list)
[ $count -ge "$2" ] || { echo "only $count planted bugs"; exit 1; }
