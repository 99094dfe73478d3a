#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compare_counts.sh [DTYPE...] - compares the memory access counts of the emulator with those of the Oclgrind plugin that
# rung had until version 0.2, for the kernels that have not changed since: results/oclgrind-21.10/access_counts.tsv. Prints
# every difference with its reason and fails if one has none. results/emulator/access_counts.tsv is the output for all types
# and for the kernels of that time.
#
# A row is what one line of a kernel requests of one array. Both count the real problem, 4096 x 4096 x 4096, per block.
set -u
RUNG_SOURCE=${RUNG_SOURCE:-$(realpath "$(dirname "$0")/../..")}
RUNG=${RUNG:-$RUNG_SOURCE/build/release/rung}
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-$RUNG_SOURCE/build/tools}/python RUNG_NVDISASM=/nowhere
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- default f16 i8 f64

# counts DTYPE: the rows of `rung explain --all`.
counts() {
    local type=()
    [ "$1" = default ] || type=(--dtype "$1")
    "$RUNG" explain --all "${type[@]}" --json --quiet 2> "$work/errors" > "$work/json"
    [ $? -ne 77 ] || { echo "NVRTC or the emulator is missing"; exit 77; }
    jq -r --arg type "$1" -f "$(dirname "$0")/access_counts.jq" "$work/json"
}

for type in "$@"; do
    counts "$type" > "$work/all" || exit 1
    awk -F '\t' '$2 ~ /^0[124]_/' "$work/all" > "$work/new"
    awk -F '\t' -v type="$type" '$1 == type && $2 ~ /^0[124]_/' "$RUNG_SOURCE/results/oclgrind-21.10/access_counts.tsv" > "$work/old"
    [ -s "$work/new" ] && [ -s "$work/old" ] || { echo "no counts of $type"; cat "$work/errors"; exit 1; }
    cat "$work/old" "$work/new" | awk -F '\t' -v old="$(wc -l < "$work/old")" -f "$(dirname "$0")/compare_counts.awk" || failed=1
done
exit ${failed:-0}
