#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# grading_sheet.sh - docs/start/grading-sheet.md is what tools/write-grading-sheet writes, and has the parts and points of rung
# tasks. Planted: other points and another limit in a task, another number on the page, and a part that is not listed.
set -u
cd "$RUNG_SOURCE" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
python=/usr/bin/python3
"$python" -c 'import tomllib' 2> /dev/null || python=python3
sheet=docs/start/grading-sheet.md
"$python" tools/write-grading-sheet --check || bad=1

# rows PAGE: prints "TASK POINTS PART" for each row.
rows() { awk -F ' *[|] *' '/^## / { sub(/:.*/, ""); task = substr($0, 4) } $2 ~ /^[0-9]+$/ { print task, $2, $3 }' "$1"; }
"$RUNG" tasks --json | jq -r '.tasks[] | .name as $task | .parts[] | "\($task) \(.max_points) \(.name)"' > "$work/tasks"
[ "$(wc -l < "$work/tasks")" -ge 19 ] || { echo "rung tasks lists hardly a part"; bad=1; }
rows $sheet | diff "$work/tasks" - || { echo "$sheet differs from rung tasks"; bad=1; }

# planted FILE SCRIPT: after the change by sed, the check fails.
planted() {
    rm -rf "$work/tree" && mkdir -p "$work/tree/docs" "$work/tree/tools"
    cp -r tasks "$work/tree/" && cp -r docs/start docs/reference "$work/tree/docs/" && cp tools/write-grading-sheet "$work/tree/tools/"
    sed -i "$2" "$work/tree/$1"
    cmp -s "$1" "$work/tree/$1" && { echo "planted: $2 changes nothing"; bad=1; }
    "$python" "$work/tree/tools/write-grading-sheet" --check > /dev/null 2>&1 && { echo "planted: $1 with $2 passes"; bad=1; }
}
planted tasks/vector_add/task.toml '0,/points = 30/s//points = 31/'
planted tasks/gemm_tile2d/task.toml 's/at_most = 0.45/at_most = 0.5/'
planted $sheet '0,/| 20 |/s//| 25 |/'
planted docs/reference/tasks.md 's/| atomic requests of warps/| atomic operations of warps/'
sed '/| no races |/d' $sheet > "$work/page"
rows "$work/page" | diff -q "$work/tasks" - > /dev/null && { echo "planted: a page without races passes"; bad=1; }
exit $bad
