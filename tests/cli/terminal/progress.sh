#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Progress: on a terminal, within its width, not too often, with the time that is left, and gone at the end.
. "$(dirname "$0")/terminal.sh"

# check NAME COLUMNS PATTERN COMMAND: what a terminal is sent on standard error
check() {
    local started=$(date +%s%N) seconds
    on_terminal "$2" "$4 > /dev/null" > "$1.txt"
    seconds=$((($(date +%s%N) - started) / 1000000000 + 1))
    sed -i -z 's/rung: warning: [^\r\n]*\r*\n//g' "$1.txt" # of a busy machine, which is no matter here
    tr '\r' '\n' < "$1.txt" > lines.txt
    grep -qE "$3" lines.txt || fail "$1: no line like $3"
    awk -v columns="$2" 'length($0) >= columns { wide = 1 } END { exit wide }' lines.txt ||
        fail "$1: wider than the terminal"
    grep -q "$escape" "$1.txt" && fail "$1: more than plain text"
    [ "$(wc -l < lines.txt)" -le $((12 * seconds + 20)) ] || fail "$1: too often"
    # The last that was written are blanks and a return.
    tail -n 1 lines.txt | grep -q '[^ ]' && fail "$1: it stays"
    tail -c 1 "$1.txt" | grep -q $'\r' || fail "$1: it stays on its line"
}
# The first takes longer to sample than the shortest time between two lines.
check bench 100 '^256x256x256 f32, sampling 0[12]_.*: 0 of 2 problems, 0:0[0-9]' \
    "'$RUNG' bench --device cpu --kernels 01,02 --sizes 256,48 --budget 1.5"
check left 100 'problems, 0:[0-9]+, about [0-9]+:[0-9]+ left' \
    "'$RUNG' bench --device cpu --kernels 01 --sizes 400:480:20 --budget 1"
check narrow 40 ' of 2 problems' "'$RUNG' bench --device cpu --kernels 01,02 --sizes 32,48 --budget 0.5"
check verify 100 '^0[12]_.*case [0-9]+ of [0-9]+: [0-9]+ of [0-9]+ settings, 0:0' \
    "'$RUNG' verify --device cpu --kernels 01,02 --suite edges"

# A search's best is told on lines of their own.
on_terminal 100 "'$RUNG' tune --device cpu --m 32 --budget 3 --state state.txt --store store > /dev/null" > tune.txt
tr '\r' '\n' < tune.txt > lines.txt
grep -qE '^32x32x32, [0-9]+ tried: [0-9]+ of 3 seconds, 0:0' lines.txt || fail "tune: no progress"
grep -qE '^ +[0-9.]+ s  32x32x32  tried .*GFLOPS *$' lines.txt || fail "tune: no best"

# Not where nobody looks, or wants to.
on_terminal 100 "'$RUNG' verify --device cpu --kernels 01 --suite edges --quiet > /dev/null" > out.txt
[ ! -s out.txt ] || fail "progress in spite of --quiet"
on_terminal 100 "TERM=dumb '$RUNG' verify --device cpu --kernels 01 --suite edges > /dev/null" > out.txt
[ ! -s out.txt ] || fail "progress on a dumb terminal"
"$RUNG" bench --device cpu --kernels 01 --sizes 32 --budget 0.3 2> out.txt > /dev/null
sed -i '/^rung: warning: /d' out.txt
[ ! -s out.txt ] || fail "progress in a file"
exit 0
