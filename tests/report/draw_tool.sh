#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/draw-results makes the page and the pictures, in a folder of its own, and every picture as PNG too; and what the
# pages of the project show is what it makes of results/ today.
. "$(dirname "$0")/report.sh"
command -v rsvg-convert > /dev/null || { echo "rsvg-convert is not here (Debian: librsvg2-bin)"; exit 77; }
"$RUNG_SOURCE/tools/draw-results" "$work/docs" > said 2>&1 || fail "exit $?: $(cat said)"
whole docs/report.html
count=$(ls docs/pictures/*.svg | wc -l)
[ "$count" -ge 6 ] || fail "only $count pictures"
for picture in docs/pictures/*.svg; do
    [ "$(stat -c %s "${picture%.svg}.png" 2> /dev/null || echo 0)" -gt 2000 ] || fail "$picture: no PNG of it, or an empty one"
done
cmp docs/report.html "$RUNG_SOURCE/docs/report.html" || fail "docs/report.html is not of results/; run tools/draw-results"
for picture in "$RUNG_SOURCE"/docs/pictures/*.svg; do
    cmp "$picture" "docs/pictures/$(basename "$picture")" || fail "$picture is not of results/; run tools/draw-results"
done
for picture in $(grep -oh 'docs/pictures/[^)]*' "$RUNG_SOURCE/README.md"); do
    [ -s "$RUNG_SOURCE/$picture" ] || fail "README.md shows $picture, which is not there; name it in tools/draw-results"
done
exit $bad
