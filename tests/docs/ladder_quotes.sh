#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every line of C that a page of the ladder quotes stands in a kernel file as it is
# quoted, so that pages and kernels cannot drift apart.
set -u
cd "$RUNG_SOURCE" || exit 1
quoted=0 bad=0
for page in docs/ladder/[0-9]*.md docs/ladder/cpu.md; do
    kernels=simt
    [ $page = docs/ladder/cpu.md ] && kernels=cpu
    while IFS= read -r line; do
        quoted=$((quoted + 1))
        grep -qF -- "$line" src/$kernels/kernels/*.c* src/$kernels/kernels/*.h ||
            { echo "$page quotes what no kernel says: $line"; bad=1; }
    done < <(awk '/^```c/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" | sed 's/^ *//' | grep -v '^$')
done
echo "$quoted lines"
[ $quoted -gt 50 ] || { echo "hardly a line is quoted"; bad=1; }
exit $bad
