#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A kernel file that never ends: every command that runs it stops at its time limit and at a signal, and leaves no
# process and no temporary file.
. "$(dirname "$0")/terminal.sh"
"$RUNG" verify --device opencl --m 1 > /dev/null 2>&1 || exit 77
set -m # so that SIGINT is not ignored in the background
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
sed 's/for (index_t i = 0; i < k; i++)/volatile index_t i = 0; while (i < k)/' \
    "$RUNG_SOURCE/learn/solutions/01_naive.cu" > endless.cu
grep -q 'while (i < k)' endless.cu || fail "the kernel is not endless"

# mine: the processes that were started with this TMPDIR, except this shell's own
mine() { grep -lzx "TMPDIR=$TMPDIR" /proc/[0-9]*/environ 2> /dev/null | grep -v "/$BASHPID/\|/$$/"; }
rungs() { for process in $(mine); do [ "${process%environ}exe" -ef "$RUNG" ] && echo "$process"; done; }
is_clean() { [ -z "$(rungs)" ] && [ -z "$(ls -A "$TMPDIR")" ]; }
# listens PROCESS: whether it is rung and catches SIGTERM
listens() { [ "/proc/$1/exe" -ef "$RUNG" ] && [ $((0x$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status") & 0x4000)) -ne 0 ]; }

# ended_by SIGNAL COMMAND...: the signal ends the command and all of its processes within 30 s
ended_by() {
    local signal=$1 process code
    shift
    "$RUNG" "$@" > out.txt 2> err.txt &
    process=$!
    wait_for listens $process
    sleep 1 # into the endless loop
    kill "-$signal" $process
    for _ in $(seq 600); do
        kill -0 $process 2> /dev/null || break
        sleep 0.05
    done
    if kill -0 $process 2> /dev/null; then
        kill -KILL $process
        fail "rung $* does not end by SIG$signal"
    fi
    wait $process
    code=$?
    [ "$signal" = KILL ] || [ $code -eq 130 ] || fail "rung $*: exit code $code after SIG$signal"
    wait_for is_clean
    [ "$signal" = KILL ] || grep -q '^rung: interrupted' err.txt || fail "rung $* does not say that it was interrupted"
}
for signal in TERM INT HUP; do
    ended_by $signal verify endless.cu --m 8
done
ended_by TERM bench endless.cu 16 --device opencl
ended_by KILL verify endless.cu --m 8

# stops WORDS COMMAND...: the time limit ends the command with a sentence and a failing exit code
stops() {
    local words=$1
    shift
    timeout -k 5 120 "$RUNG" "$@" > out.txt 2> err.txt
    [ $? -eq 1 ] || fail "rung $*: wrong exit code"
    grep -qE "$words" out.txt err.txt || fail "rung $* does not say $words"
    wait_for is_clean
}
stops 'did not finish within 1 s.*m = 8, n = 8, k = 8' verify endless.cu --m 8 --time-limit 1
grep -q 'reproduce: rung verify .*--m 8' out.txt || fail "the command that runs it again is missing"
stops 'did not finish within 1 s' verify endless.cu --m 8 --time-limit 1 --json
cp out.txt out.json
holds out.json '.complete == false and .wrong == 1 and .failures[0].timed_out'
stops 'endless.cu.*16 x 16 x 16.*did not finish within 1 s' bench endless.cu 16 --device opencl --time-limit 1
# The check on the emulator before a suite ends, too; without NVRTC and Oclgrind the suite does.
RUNG_OCLGRIND=/nowhere stops 'did not finish within 1 (s|million)' verify endless.cu --time-limit 1

# A kernel that crashes is named too.
# A sanitizer turns the signal into an exit code.
sed 's/sum_t sum = 0;/sum_t sum = 0; *(volatile GLOBAL int *)8 = 1;/' "$RUNG_SOURCE/learn/solutions/01_naive.cu" > crash.cu
[ -n "${RUNG_SANITIZE:-}" ] || stops 'crashed \(signal 11' verify crash.cu --m 8

# A crash after the last problem keeps the counts and the times.
slowed=$RUNG_BUILD/tests/compare/rung_slowed
PLANTED_CRASH=1 PLANTED_PERCENT=0 timeout 60 "$slowed" verify "$RUNG_SOURCE/learn/solutions/01_naive.cu" --device opencl --m 8 \
    > out.txt 2> err.txt
[ $? -eq 1 ] && grep -qE 'crashed \(signal 6, .*\) after problem [1-9]' out.txt && grep -qE '^all +[1-9][0-9]* +0 +0' out.txt ||
    fail "verify: a crash at the end loses the counts: $(cat out.txt err.txt)"
PLANTED_CRASH=1 PLANTED_PERCENT=0 timeout 60 "$slowed" bench "$RUNG_SOURCE/learn/solutions/01_naive.cu" 16 --device opencl \
    --budget 0.05 > out.txt 2> err.txt
[ $? -eq 1 ] && grep -qE 'crashed \(signal 6, .*\) after step [1-9]' err.txt && grep -q 01_naive out.txt ||
    fail "bench: a crash at the end loses the times: $(cat out.txt err.txt)"

for place in -1 x 1e9; do
    "$RUNG" verify endless.cu --m 8 --time-limit $place > out.txt 2> err.txt
    [ $? -eq 2 ] && grep -q -- '--time-limit' err.txt || fail "--time-limit $place is accepted"
done

# On the emulator, whose limit is in instructions of a warp: the check before verify, and the counts of explain.
"$RUNG" explain "$RUNG_SOURCE/learn/solutions/01_naive.cu" --m 32 --quiet > out.txt 2>&1 || exit 0
for signal in TERM INT HUP; do
    ended_by $signal verify endless.cu
    ended_by $signal explain endless.cu
done
stops 'endless.cu:25: .*did not finish within 1 million instructions' verify endless.cu --time-limit 1
grep -q 'Not run on opencl:0' out.txt || fail "a kernel that does not end on the emulator was run"
stops 'endless.cu:25: a warp has executed [0-9]* instructions and does not end' explain endless.cu --time-limit 1
exit 0
