#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy finds nothing in src/: the checks of .clang-tidy, on each file as the build compiles it, two files at a
# time. Takes about 40 s of processor time.
set -eu
tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
case $([ -n "$tidy" ] && "$tidy" --version) in
*"version 14."*) ;;
*) echo "clang-tidy 14 is not installed; run tools/install-test-tools"; exit 77 ;;
esac
commands=$RUNG_BUILD/compile_commands.json
[ -f "$commands" ] || { echo "$commands is missing; configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# Without the options of GCC that Clang does not have, and with assertions, which tell what holds.
jq --arg src "$RUNG_SOURCE/src/" '[.[] | select(.file | startswith($src)) |
    .command |= gsub(" -fno-(ivopts|gcse|tree-pre)| -Wshadow=local| -Werror"; "")] | unique_by(.file)' \
    "$commands" > "$work/compile_commands.json"
files=$(jq -r '.[].file' "$work/compile_commands.json")
count=$(wc -l <<< "$files")
[ "$count" -ge 90 ] || { echo "only $count files of src were found"; exit 1; }
xargs -P 2 -n 1 "$tidy" --quiet -p "$work" --extra-arg=-DRUNG_ASSERTIONS --extra-arg=-Wno-unknown-warning-option \
    <<< "$files" > "$work/found" 2> "$work/remarks" ||
    { cat "$work/found"; grep -vE 'warnings? (generated|treated)|Suppressed|^Use ' "$work/remarks"; exit 1; }
echo "$count files: nothing was found"
