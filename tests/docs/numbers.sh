#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The numbers in the pages are those of the result files, every kernel has its page,
# and the check that says so can fail.
set -u
cd "$RUNG_SOURCE" || exit 1
command -v jq > /dev/null || { echo "jq is not here"; exit 77; }
bad=0
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT

tools/write-numbers --check || { echo "tools/write-numbers --check exits with $?"; bad=1; }

pages=0
for kernel in src/simt/kernels/[0-9]*.cu; do
    name=$(basename "$kernel" .cu) page=docs/ladder/$(basename "$kernel" .cu).md
    grep -q '"tma.h"' "$kernel" && continue # one architecture only: no tables
    grep -q '"quantized.h"' "$kernel" && continue # B has a type of its own: no tables
    pages=$((pages + 1))
    markers=("bench $name" "compile $name")
    # In software there is nothing to time, and engines do not multiply f32.
    if grep -q '"engine.h"' "$kernel"; then markers=("compile $name f16"); fi
    # The measured problems are square, which a kernel for few rows is not for.
    if grep -q '^// short: rows' "$kernel"; then markers=("compile $name"); fi
    for marker in "${markers[@]}"; do
        grep -qxF "<!-- numbers: $marker -->" "$page" || { echo "$page: no '$marker'"; bad=1; }
    done
done
[ $pages -ge 12 ] || { echo "only $pages kernels seen"; bad=1; }

# expect CODE WORD WHAT ARGUMENT...: write-numbers exits so and says that.
expect() {
    local code=$1 word=$2 what=$3 said got
    shift 3
    said=$(tools/write-numbers "$@" 2>&1)
    got=$?
    [ $got -eq "$code" ] || { echo "$what: exits with $got, not $code: $said"; bad=1; }
    grep -qF -- "$word" <<< "$said" || { echo "$what: does not say '$word': $said"; bad=1; }
}

copy=$temporary/page.md page=docs/ladder/07_tile2d.md
fresh() { cp "$page" "$copy"; }

# One digit in a table: found, told by the page's name, and left alone by --check.
for kind in bench compile loops types batch overlap explained predicted; do
    case $kind in
    bench | compile) page=docs/ladder/07_tile2d.md ;;
    overlap) page=docs/guides/overlapped-copies.md ;;
    loops) page=docs/reference/cutlass-comparison.md ;;
    explained | predicted) page=docs/guides/explain.md ;;
    *) page=docs/guides/types-batches-epilogues.md ;;
    esac
    fresh
    sed -i "/<!-- numbers: $kind /,/<!-- end -->/{/^| *[\`0-9].*[0-9] .*|\$/{s/[0-8] |/9 |/}}" "$copy"
    cmp -s "$page" "$copy" && { echo "no digit to change in $kind"; bad=1; }
    cp "$copy" "$temporary/changed.md"
    expect 1 "$copy" "a changed digit ($kind)" --check "$copy"
    cmp -s "$temporary/changed.md" "$copy" || { echo "--check has written ($kind)"; bad=1; }
    expect 0 written "writing it again ($kind)" "$copy"
    cmp -s "$page" "$copy" || { echo "not written as it was ($kind)"; bad=1; }
done
page=docs/ladder/07_tile2d.md

# What is outside the blocks is nobody's business.
fresh
echo "1234 more" >> "$copy"
tools/write-numbers --check "$copy" || { echo "text outside the blocks counts"; bad=1; }

# Pages that are not understood.
fresh
sed -i '/<!-- end -->/d' "$copy"
expect 2 "no end" "a block without an end" --check "$copy"
fresh
sed -i 's/numbers: bench 07_tile2d/numbers: bench 77_nothing/' "$copy"
expect 2 "no f32 row of 77_nothing" "a kernel without numbers" --check "$copy"
fresh
sed -i 's/numbers: bench/numbers: guess/' "$copy"
expect 2 "not known" "an unknown block" --check "$copy"
echo "no block" > "$copy"
expect 2 "no page" "a page without blocks" --check "$copy"

# A result that was not verified has a reason and no numbers.
mkdir -p "$temporary/results/xeon-pocl"
jq '.results |= map(if .kernel == "07_tile2d" then .verified = false | .why_not = "WRONG | here" else . end)' \
    results/xeon-pocl/bench.json > "$temporary/results/xeon-pocl/bench.json"
printf '%s\n' '<!-- numbers: bench 07_tile2d -->' '<!-- end -->' > "$copy"
RESULTS=$temporary/results tools/write-numbers "$copy" > /dev/null || { echo "unverified rows stop it"; bad=1; }
grep -qF 'not timed: WRONG here | | | | |' "$copy" || { echo "the reason is not told:"; cat "$copy"; bad=1; }
! grep -qE '^\| [0-9]+ \|.*\| [0-9.]+ \| [0-9.]+ \|' "$copy" || { echo "an unverified time is printed"; bad=1; }

exit $bad
