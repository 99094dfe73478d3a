#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kills.sh COUNT - rung multiply is killed (SIGKILL) at random moments and gone on with, until there were COUNT kills, up to
# three of one multiply, and one with something to go on with: the file is right to the last bit whenever it is there, and nothing is left beside it.
. "$(dirname "$0")/common.sh"
count=$1
n=640
floats 1 $((n * n)) > a.bin
floats 2 $((n * n)) > b.bin
# In the background it is the command itself that a signal reaches, and no shell around it.
become() {
    exec "$RUNG" multiply a.bin b.bin -o c.bin --dtype f32 --shape-a ${n}x$n --shape-b ${n}x$n --memory 96K --quiet --json --unchecked
}
multiply() { (become); }
now() { date +%s%N; }

took=1000000 # ms; the shortest of three
for ((i = 0; i < 3; i++)); do
    rm -f c.bin
    began=$(now)
    multiply > whole.json || fail "not even undisturbed"
    ms=$((($(now) - began) / 1000000))
    took=$((ms < took ? ms : took))
done
mv c.bin right.bin
blocks=$(jq .blocks whole.json)
[ "$blocks" -ge 20 ] || fail "$blocks blocks are too few to be killed between"

# A process that has ended before its signal is not killed by it: what counts is how it ended.
begun=0 kills=0 early=0 resumed=0 kept=0
while [ $kills -lt "$count" ] || [ $resumed -eq 0 ]; do
    begun=$((begun + 1))
    [ $begun -le $((20 * count)) ] || fail "$kills kills of $begun, $resumed with something to go on with: it is always done before"
    rm -f c.bin*
    for ((j = 0; j <= begun % 3; j++)); do
        become > /dev/null 2>&1 &
        sleep "$(perl -e 'printf "%.4f", rand(shift) / 1000' "$took")"
        kill -9 $! 2> /dev/null
        wait $! 2> /dev/null
        [ $? -eq 137 ] && kills=$((kills + 1))
        [ ! -e c.bin ] || { early=$((early + 1)); cmp c.bin right.bin || fail "$begun: a file that is there is not whole"; break; }
    done
    multiply > rest.json 2> rest.err || { cat rest.err; fail "$begun: it does not go on"; }
    cmp c.bin right.bin || fail "$begun: other bits"
    [ ! -e c.bin.part ] && [ ! -e c.bin.journal ] || fail "$begun: something is left"
    before=$(jq .blocks_before rest.json)
    [ "$before" -eq 0 ] || { resumed=$((resumed + 1)); kept=$((kept + before)); }
done
echo "$kills kills in $begun multiplies, $early of which were done before the last of theirs; $resumed gone on with by the last run, behind $kept blocks in all, of $blocks each; every file right to the last bit"
