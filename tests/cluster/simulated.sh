#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# simulated.sh EVERY RANKS - the schedule under SimGrid: on every EVERY-th of the shapes that grids are judged by, of those with
# RANKS ranks at most, the busiest rank receives just the bytes that were predicted; on a cube, those of the bound.
set -u
every=$1 most=$2 ran=0
fail() { echo "$*" >&2; exit 1; }
simulate() { FEWEST=1 "$RUNG_SOURCE/tools/simulate/run" "$RUNG_BUILD" "$@" || fail "the simulation of $* failed"; }
number() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" <<< "$line"; }

while read -r _ ranks m n k grid received _ ratio; do
    [ "$ranks" -le "$most" ] || continue
    line=$(simulate "$ranks" "$m" "$n" "$k") || exit 1
    [ "$(number predicted)" = "$received" ] || fail "$line: another prediction than $received"
    [ "$(number received)" = "$received" ] || fail "$line: $(number received) bytes came, and $received were predicted"
    echo "$ranks ranks, $m x $n x $k, $grid: $received bytes, as predicted; $ratio times the bound"
    ran=$((ran + 1))
done < <("$RUNG_BUILD/tests/cluster/list_shapes" | awk -v every="$every" 'NR > 1 && (NR - 2) % every == 0')
[ $ran -ge 3 ] || fail "of the shapes $ran were run"

for ranks in 8 64 512; do
    [ $ranks -le 64 ] || [ $ranks -le "$most" ] || continue
    line=$(simulate $ranks 8192 8192 8192) || exit 1
    [ "$(number received)" = "$(number bound)" ] || fail "$line: a cube's bytes are the bound's"
    echo "$ranks ranks, 8192 cubed: $(number received) bytes, the bound"
done
