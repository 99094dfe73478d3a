#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# links.sh - links of all Markdown pages to files and headings of the project lead somewhere. Each of the seven steps of the
# course links to its task, and the page of the task links to the course. README.md links to every page of docs/start, and each
# folder of examples/teaching is in its README. Planted: a file and a heading that do not exist, and a step with the task of another.
set -u
cd "$RUNG_SOURCE" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0
fail() { echo "$*"; bad=1; }
git rev-parse --git-dir > /dev/null 2>&1 || { echo "no repository here"; exit 77; }
python3 tests/docs/links.py . $(git ls-files '*.md') || bad=1

# steps PAGE: "NUMBER TASK" for each step of the course, with the first task that its section links to.
steps() { awk '/^## Step [0-9]+:/ { step = $3 + 0 } /^## / && !/Step/ { step = 0 }
    step && match($0, /\.\.\/tasks\/[a-z0-9_]+\//) { print step, substr($0, RSTART + 9, RLENGTH - 10); step = 0 }' "$1"; }
# The tasks whose titles are "GEMM 1: ..." to "GEMM 7: ...".
for number in 1 2 3 4 5 6 7; do
    echo "$number $(basename "$(dirname "$(grep -l "^title = \"GEMM $number:" tasks/*/task.toml)")")"
done > "$work/tasks"
steps learn/README.md | diff "$work/tasks" - || fail "learn/README.md: the steps do not link to their tasks"
while read -r _ task; do
    grep -qF '](../../learn/README.md)' "tasks/$task/README.md" || fail "tasks/$task/README.md does not link to the course"
done < "$work/tasks"

for page in docs/start/*.md; do grep -qF "]($page)" README.md || fail "README.md does not link to $page"; done
for folder in examples/teaching/*/; do
    grep -qF "| \`$(basename "$folder")\` |" examples/teaching/README.md || fail "examples/teaching/README.md does not list $folder"
done

# ---- Planted ----
mkdir "$work/docs"
printf '%s\n' '# A page' '## Some *words*, and 2' '[here](#some-words-and-2) [there](other.md#second) `[no](link)`' > "$work/docs/page.md"
printf '%s\n' '## Second' > "$work/docs/other.md"
python3 tests/docs/links.py "$work" docs/page.md > "$work/out" || { cat "$work/out"; fail "right links fail"; }
printf '%s\n' '[a](missing.md) [b](other.md#third)' >> "$work/docs/page.md"
python3 tests/docs/links.py "$work" docs/page.md > "$work/out" && fail "planted: wrong links pass"
grep -q 'missing.md: there is no such file' "$work/out" && grep -q 'other.md#third: there is no such heading' "$work/out" ||
    { cat "$work/out"; fail "planted: a wrong link is not reported"; }
sed 's|\.\./tasks/gemm_padded/|../tasks/gemm_tiled/|' learn/README.md > "$work/page"
steps "$work/page" | diff -q "$work/tasks" - > /dev/null && fail "planted: a step with the task of another passes"
exit $bad
