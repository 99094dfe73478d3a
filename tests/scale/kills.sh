#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kills.sh COUNT - rung multiply is killed (SIGKILL) at random moments and gone on with, COUNT times, each from the
# beginning and each with up to three kills: the file is right to the last bit whenever it is there, and nothing is left beside it.
. "$(dirname "$0")/files.sh"
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

began=$(now)
multiply > whole.json || fail "not even undisturbed"
took=$((($(now) - began) / 1000000)) # ms, of the slowest way there is: nothing kept
mv c.bin right.bin
blocks=$(jq .blocks whole.json)
[ "$blocks" -ge 20 ] || fail "$blocks blocks are too few to be killed between"

kills=0 resumed=0 kept=0 early=0
for ((i = 0; i < count; i++)); do
    rm -f c.bin*
    for ((j = 0; j < 1 + i % 3; j++)); do
        become > /dev/null 2>&1 &
        sleep "$(perl -e 'printf "%.4f", rand(shift) / 1000' $took)"
        if kill -9 $! 2> /dev/null; then kills=$((kills + 1)); fi
        wait $! 2> /dev/null
        [ ! -e c.bin ] || { early=$((early + 1)); cmp c.bin right.bin || fail "$i: a file that is there is not whole"; break; }
    done
    multiply > rest.json 2> rest.err || { cat rest.err; fail "$i: it does not go on"; }
    cmp c.bin right.bin || fail "$i: other bits"
    [ ! -e c.bin.part ] && [ ! -e c.bin.journal ] || fail "$i: something is left"
    before=$(jq .blocks_before rest.json)
    [ "$before" -eq 0 ] || { resumed=$((resumed + 1)); kept=$((kept + before)); }
done
echo "$count times begun, $kills kills, $early done before one; $resumed gone on with, behind $kept blocks of $blocks each; every file right to the last bit"
[ $resumed -gt 0 ] || fail "none was killed when there was something to go on with"
