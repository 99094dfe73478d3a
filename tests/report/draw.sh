#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/draw makes the page and the pictures, in a folder of its own, and every picture as PNG too.
. "$(dirname "$0")/report.sh"
command -v rsvg-convert > /dev/null || { echo "rsvg-convert is not here (Debian: librsvg2-bin)"; exit 77; }
"$RUNG_SOURCE/tools/draw" "$work/docs" > said 2>&1 || fail "exit $?: $(cat said)"
whole docs/report.html
count=$(ls docs/pictures/*.svg | wc -l)
[ "$count" -ge 6 ] || fail "only $count pictures"
for picture in docs/pictures/*.svg; do
    [ "$(stat -c %s "${picture%.svg}.png" 2> /dev/null || echo 0)" -gt 2000 ] || fail "$picture: no PNG of it, or an empty one"
done
exit $bad
