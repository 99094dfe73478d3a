#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# table.sh [PATTERN] - every planted bug, or those whose names begin so, in which kernel,
# how many results of its suite came out wrong, and how many lines Oclgrind wrote: which of
# the two caught it. The output is committed as results/oclgrind-21.10/planted.tsv. Exits
# with 1 if one was missed.
set -u
here=$(dirname "$0")
missed=0
printf 'bug\tkernel\tparams\twrong_results\toclgrind_lines\n'
while read -r name kernel params _; do
    line=$(bash "$here/planted.sh" "$name" 2> /dev/null | grep "^$name: ") || missed=1
    printf '%s\t%s\t%s\t%s\n' "$name" "$kernel" "$params" \
        "$(sed -E 's/.*: ([0-9]+) wrong results, ([0-9]+) lines.*/\1\t\2/' <<< "$line")"
done < <(grep -E "^(${1:-[a-z]})" "$here/planted.txt")
exit $missed
