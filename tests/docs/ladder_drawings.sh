#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The drawings of docs/ladder/reads are what the kernels do: each is drawn again and compared. With --update they are
# written. 77 where NVRTC or the emulator is missing.
set -u
cd "$RUNG_SOURCE" || exit 1
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-build/tools}/python
draw=${RUNG_BUILD:-build/release}/draw_reads
folder=docs/ladder/reads
bad=0 drawn=0
new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT
for kernel in src/simt/kernels/[0-9]*.cu; do
    name=$(basename "$kernel" .cu)
    grep -q '"tma.h"' "$kernel" && continue       # the TMA copies: no thread reads A or B
    grep -q '"quantized.h"' "$kernel" && continue # elements of B are no words of memory
    type=f32
    grep -q '"engine.h"' "$kernel" && type=f16:f32
    "$draw" "$name" $type > "$new"
    code=$?
    [ $code -ne 77 ] || exit 77
    [ $code -eq 0 ] || { echo "$name cannot be drawn"; bad=1; continue; }
    drawn=$((drawn + 1))
    if [ "${1:-}" = --update ]; then
        cp "$new" "$folder/$name.svg"
    elif ! cmp -s "$new" "$folder/$name.svg"; then
        echo "$folder/$name.svg is not what $name reads; RUNG_BUILD=... tests/docs/ladder_drawings.sh --update draws it again"
        bad=1
    fi
    grep -q "(reads/$name.svg)" "docs/ladder/$name.md" || { echo "docs/ladder/$name.md does not show it"; bad=1; }
done
[ $drawn -ge 12 ] || { echo "only $drawn drawings"; bad=1; }
exit $bad
