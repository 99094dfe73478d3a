#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C ends a command after what is under way, with a valid result of what there is; a second one
# ends it at once.
. "$(dirname "$0")/terminal.sh"
set -m # so that SIGINT is not ignored in the background

# listens, is_deaf PROCESS: whether SIGINT would be caught, or is no longer
caught() { sed -n 's/^SigCgt:\t/0x/p' "/proc/$1/status" 2> /dev/null || echo 0; }
listens() { [ "/proc/$1/exe" -ef "$RUNG" ] && [ $(($(caught "$1") & 2)) -ne 0 ]; } # and is no longer the shell
is_deaf() { [ $(($(caught "$1") & 2)) -eq 0 ]; }

# Of the first problem there is all, of the second nothing yet.
bench=(bench --device cpu --kernels 01 --sizes 16,512 --budget 60)
"$RUNG" "${bench[@]}" --json -o file.json > table.txt 2> err.txt &
wait_for test -e file.json
kill -INT $! && wait $!
[ $? -eq 130 ] || fail "bench: exit code"
holds file.json '.complete == false and (.results | length) == 2'
holds file.json '.results[0] | .verified and .median_ns > 0'
holds file.json '.results[1] | (.verified | not) and .why_not == "interrupted" and .median_ns == 0 and .samples == 0'
grep -q '^rung: interrupted: .*run the same command again' err.txt || fail "bench does not say that it was interrupted"

# The same on standard output, by SIGTERM, with contenders that have enough samples and others that do not.
"$RUNG" bench --device cpu --kernels 01,02 --sizes 16:960:16 --budget 0.2 --json > out.json 2> err.txt &
wait_for listens $!
sleep 2
kill -TERM $! && wait $!
[ $? -eq 130 ] || fail "bench by SIGTERM: exit code"
holds out.json '.complete == false and (.results | length) >= 2'
holds out.json 'all(.results[]; .verified and .median_ns > 0 or .why_not == "interrupted" and .median_ns == 0)'
"$RUNG" bench --device cpu --kernels 01 --sizes 512 --budget 60 > csv.txt 2> err.txt &
wait_for listens $!
kill -INT $! && wait $!
[ $? -eq 130 ] && grep -q '^rung: interrupted' err.txt || fail "tables: exit code, or nothing said"

# One that was not.
"$RUNG" bench --device cpu --kernels 01 --sizes 16 --budget 0.05 --json > out.json || fail "exit $?"
holds out.json '.complete == true'

# A second one: at once, with nothing.
"$RUNG" bench --device cpu --kernels 01 --sizes 3000 --budget 600 --json > second.json 2> err.txt &
wait_for listens $!
kill -INT $!
wait_for is_deaf $!
kill -TERM $! && wait $!
[ $? -eq 143 ] && [ ! -s second.json ] || fail "the second signal did not end it"

# Its counts so far.
"$RUNG" verify --device cpu --json > verify.json 2> err.txt &
wait_for listens $!
sleep 1
kill -INT $! && wait $!
[ $? -eq 130 ] || fail "verify: exit code"
holds verify.json '.complete == false and .cases > 0 and .wrong == 0 and (.by_kernel | length) > 1'
grep -q '^rung: interrupted' err.txt || fail "verify does not say that it was interrupted"
"$RUNG" verify --device cpu --kernels 01 --m 3 --json > verify.json || fail "exit $?"
holds verify.json '.complete == true'

# Tune ends its worker too, blames no candidate, and goes on where it was.
tune=(tune --device cpu --m 400 --state state.txt --store store --json)
"$RUNG" "${tune[@]}" --budget 60 > tune.json 2> err.txt &
tuner=$!
tried() { [ -e state.txt ] && [ "$(grep -c '^trying' state.txt)" -ge "$1" ]; }
wait_for tried 3
worker=$(cat /proc/$tuner/task/$tuner/children)
kill -TERM $tuner && wait $tuner
[ $? -eq 130 ] || fail "tune: exit code"
holds tune.json '.complete == false and (.results[0] | .why == "interrupted" and (.saved | not) and .crashed == 0)'
grep -q 'run the same command again to resume' err.txt || fail "tune does not say how to go on"
grep -q '^crashed' state.txt && fail "a candidate is blamed for the interruption"
tail -n 1 state.txt | grep -q '^trying' && fail "the candidate under way has no end in the journal"
for process in $worker; do
    [ -e "/proc/$process" ] && ! grep -q 'State:.Z' "/proc/$process/status" && fail "the worker lives on"
done
exit 0
