#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library's choice of a tile shape is near the best of all presets, as the model of `rung explain` predicts them: for a
# sample of the shapes here, and for all of them in the tables on record.
set -u
source=$RUNG_SOURCE
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
bad=0

# percentile: of the losses on standard input, the 95th, in tenths of a percent.
percentile() { sort -n | awk '{ loss[NR] = $1 } END { i = int(0.95 * NR); if (i < 0.95 * NR) i++; printf "%d", 10 * loss[i] + 0.5 }'; }

shapes=$(($(wc -l < "$source/results/choosing/shapes.tsv") - 1))
[ "$shapes" -ge 200 ] || { echo "shapes.tsv has $shapes shapes"; bad=1; }
tables=0
for table in "$source"/results/choosing/sm_*.tsv; do
    for dtype in $(cut -f 2 "$table" | sed 1d | sort -u); do
        tables=$((tables + 1))
        losses=$(awk -F '\t' -v dtype="$dtype" '$2 == dtype { print $NF }' "$table")
        [ "$(wc -l <<< "$losses")" -eq "$shapes" ] || { echo "$table does not have all shapes for $dtype"; bad=1; }
        [ "$(percentile <<< "$losses")" -le 100 ] || { echo "$table, $dtype: more than 10 % at the 95th percentile"; bad=1; }
    done
done
[ $tables -ge 10 ] || { echo "results/choosing has $tables tables"; bad=1; }

"$RUNG" explain 10 --m 128 --quiet --json 2> /dev/null | grep -q '"missing_tools": \[\]' ||
    { echo "NVRTC or nvdisasm is missing: nothing is predicted"; exit $((bad ? 1 : 77)); }
losses=$("$RUNG_BUILD/tools/choosing" "$source/results/choosing/shapes.tsv" sm_86 f16:f32 20 | awk -F '\t' 'NR > 1 { print $NF }')
[ "$(wc -l <<< "$losses")" -eq 10 ] || { echo "a sample of 10 shapes has other losses: $losses"; bad=1; }
[ "$(percentile <<< "$losses")" -le 150 ] || { echo "a sample loses more than 15 %: $losses"; bad=1; }
exit $bad
