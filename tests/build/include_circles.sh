#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No include circles in src/ and lab/. A component is a .c file together with the header of the same name. If component A
# includes B, then B must not include A, neither directly nor through others.
set -u
cd "$RUNG_SOURCE" || exit 1
bad=0

# list_edges FOLDER: prints one line "COMPONENT COMPONENT" per include below FOLDER/src and FOLDER/lab.
list_edges() {
    (cd "$1" && find src lab -name '*.[ch]' -o -name '*.def') > "$work/files"
    (cd "$1" && grep -rE --include='*.[ch]' --include='*.def' '^ *# *include +"' src lab) |
        awk -v files="$work/files" '
            function component(path) { sub(/\.[a-z]+$/, "", path); return path }
            BEGIN { while ((getline file < files) > 0) exists[file] = 1 }
            { file = $0; sub(/:.*/, "", file)
              header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
              folder = file; sub(/[^\/]*$/, "", folder)
              root = file ~ /^lab/ ? "lab/" : "src/"
              target = "src/" header
              if ((root header) in exists) target = root header
              if ((folder header) in exists) target = folder header
              if (target in exists && component(target) != component(file)) print component(file), component(target) }'
}

# find_circles FOLDER: prints the circles and fails if there are any.
find_circles() {
    list_edges "$1" > "$work/edges"
    [ "$(wc -l < "$work/edges")" -gt 100 ] || { echo "only $(wc -l < "$work/edges") includes found"; return 1; }
    tsort "$work/edges" 2>&1 > /dev/null | sed 's/^tsort: //; s/^[^ ]*: input contains a loop:/circle:/' > "$work/circles"
    [ ! -s "$work/circles" ] || { cat "$work/circles"; return 1; }
}

work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
find_circles . || bad=1

# Planted: a header that includes a header above it.
mkdir "$work/copy" && cp -r src lab "$work/copy"
echo '#include "core/plan.h"' >> "$work/copy/src/core/problem.h"
! find_circles "$work/copy" > "$work/said" || { echo "a planted circle was not found"; bad=1; }
grep -q 'src/core/problem' "$work/said" || { echo "the planted circle was not reported:"; cat "$work/said"; bad=1; }
exit $bad
