#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table from which the CUDA device chooses tile shapes has a row for each preset and is as new as the kernels. Changes
# that would need a new table are planted in copies.
set -u
tool=$RUNG_BUILD/tools/kernel_speed
table=$RUNG_SOURCE/src/simt/kernel_speed.def
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
bad=0

cd "$RUNG_SOURCE" || exit 1
"$tool" check src/simt/kernels src/simt/kernel_speed.def || bad=1

# refused TEXT: the copies differ, and the message has TEXT and the command.
refused() {
    (cd "$work" && "$tool" check kernels table.def) > "$work/out" 2>&1 && { echo "not noticed: $1"; bad=1; }
    grep -qF -- "$1" "$work/out" || { echo "not printed: $1"; cat "$work/out"; bad=1; }
    grep -qF "kernel_speed write src/simt/kernels src/simt/kernel_speed.def" "$work/out" ||
        { echo "the command is not printed"; bad=1; }
}
restore() { rm -rf "$work/kernels" && cp -r src/simt/kernels "$work/kernels" && cp "$table" "$work/table.def"; }

restore
(cd "$work" && "$tool" check kernels table.def) || { echo "copies are refused"; bad=1; }
echo '/* another comment */' >> "$work/kernels/10_pipeline.cu"
sed -i 's|^ \* Leaves .*| * Leaves   another comment|' "$work/kernels/12_matrix.cu"
(cd "$work" && "$tool" check kernels table.def) || { echo "a comment makes the table old"; bad=1; }

sed -i 's/STAGES=3$/STAGES=4/' "$work/kernels/10_pipeline.cu"
refused "table.def is older than 10_pipeline"
grep -q "older than 12_matrix" "$work/out" && { echo "12_matrix did not change"; bad=1; }
restore
echo 'int added;' >> "$work/kernels/swizzle.h"
refused "table.def is older than 12_matrix"
restore
sed -i '/^SPEED(89, "12_matrix", "tall", F16, GUARDED/d' "$work/table.def"
refused 'SPEED(89, "12_matrix", "tall", F16, GUARDED'
exit $bad
