#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two executables, interleaved in pairs of processes: one that takes three times as long is found, from both
# sides, and the files of both belong together. One pair decides nothing. A baseline that is none ends in 2,
# whatever it does.
set -u
slowed=$RUNG_BUILD/tests/compare/rung_slowed
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
export PLANTED_PERCENT=200

check() { # NAME EXPECTED GOT
    [ "$2" = "$3" ] || { echo "$1: expected $2, got $3"; bad=1; }
}
bench() { # EXECUTABLE BASELINE: the results are new.json and old.json
    "$1" bench --device cpu --kernels 04,07 --sizes 64 --threads 1 --runs 5 --budget 1 --quiet --json \
        --baseline "$2" --baseline-json old.json > new.json 2> said.txt
}
totals() { grep -o '^[0-9]* slower, [0-9]* faster' said.txt; }

bench "$slowed" "$RUNG"; check "slower: exit code" 3 $?
check "slower: results" "2 slower, 0 faster" "$(totals)"
check "the same pairing" true "$(jq -n '[inputs.pairing] | length == 2 and .[0] == .[1] and (.[0] | length) > 5' old.json new.json)"
check "one number per run" '[5,5,5,5]' "$(jq -nc '[inputs.results[] | select(.verified and .runs == 5) | .runs_ns | length]' old.json new.json)"
check "the file is complete" '[true,5]' "$(jq -c '[.complete, .runs]' new.json)"
"$RUNG" compare old.json new.json --json > compared.json; check "compare: exit code" 3 $?
check "compare: results" '[true,["slower","slower"],true]' \
    "$(jq -c '[.interleaved, [.rows[].result], ([.rows[].change > 1] | all)]' compared.json)"
"$RUNG" compare new.json old.json --json > compared.json; check "compare, the other way: exit code" 0 $?
check "compare, the other way" '["faster","faster"]' "$(jq -c '[.rows[].result]' compared.json)"
"$RUNG" report new.json -o report.html > /dev/null; check "report of several runs" 0 $?

bench "$RUNG" "$slowed"; check "faster: exit code" 0 $?
check "faster: results" "0 slower, 2 faster" "$(totals)"

# One pair of processes, or one run against a file, decides nothing, however large the difference.
"$slowed" bench --device cpu --kernels 07 --sizes 64 --threads 1 --runs 1 --budget 0.3 --quiet --json \
    --baseline "$RUNG" --baseline-json one_old.json > one_new.json 2> said.txt; check "one pair: exit code" 0 $?
grep -q '^07_.* cannot tell from one run$' said.txt || { echo "one pair: $(cat said.txt)"; bad=1; }
# As many rounds as are wanted, or as half of the budget holds where the machine is slow just then.
check "enough rounds" true "$(jq '[.results[].series_ns | length >= 30 or add > 1.5e8] | all' one_new.json)"
check "the same rounds" true "$(jq -n '[inputs.results[] | .series_of] | unique | (max % min) == 0' one_old.json one_new.json)"
"$RUNG" bench --device cpu --kernels 04,07 --sizes 64 --threads 1 --budget 0.3 --quiet --baseline old.json > said.txt 2>&1
check "a file: exit code" 0 $?
check "a file" 2 "$(grep -c ' cannot tell from one run$' said.txt)"

# Several runs of one executable: one table, one file, and an interruption keeps the runs that are complete.
"$RUNG" bench --device cpu --kernels 04,07 --sizes 64 --threads 1 --runs 3 --budget 0.3 --quiet -o runs.json > table.txt 2> /dev/null
check "runs: exit code" 0 $?
check "runs" '[true,3,[3,3],[0.0,0.0]]' "$(jq -c '[.complete, .runs, [.results[].runs], [.results[] | .gflops * .median_ns / (2 * .m * .n * .k) - 1 | . * 1000 | round / 1000 | fabs]]' runs.json | sed 's/\[0,0\]/[0.0,0.0]/')"
check "runs: table" 2 "$(grep -c '^0[47]_.* 3$' table.txt)"
"$RUNG" bench --device cpu --kernels 07 --sizes 64 --threads 1 --runs 100 --budget 100 --quiet -o stopped.json > table.txt 2> said.txt &
process=$!
for _ in $(seq 600); do [ -s stopped.json ] && break; sleep 0.1; done
kill -TERM $process; wait $process; check "stopped: exit code" 130 $?
check "stopped" '[false,true]' "$(jq -c '[.complete, .runs >= 1 and .runs < 100]' stopped.json)"

# A result that was verified and is not computed any more.
PLANTED_IDLE=1 "$slowed" bench --device cpu --kernels 07 --sizes 256 --threads 1 --budget 0.3 --quiet --json > out.json 2> /dev/null
check "beyond the roof: exit code" 1 $?
check "beyond the roof" '[true,0,0,true,0]' \
    "$(jq -c '.results[] | [.verified, .median_ns, .gflops, (.why_not | startswith("implausible: ")), (.series_ns | length)]' out.json)"
"$RUNG" compare out.json out.json > /dev/null 2>&1; check "beyond the roof: compared" 1 $?

# What is no baseline. The silent one is waited for ten seconds.
script() { printf '#!/usr/bin/env bash\nIFS=, read -r in out id <<< "$RUNG_BENCH_TURNS"\n%s\n' "$2" > "$1"; chmod +x "$1"; }
script dies 'exit 5'
script chatters 'echo hello >&$out; exec sleep 60'
script greets 'echo rung-turns/1 >&$out; exit 0'
script mumbles 'echo rung-turns/1 >&$out; echo what >&$out; exec sleep 60'
script silent 'exec sleep 60'
script lingers 'eval "exec $out>&-"; exec sleep 60'
script answers 'echo rung-turns/1 >&$out
while read -r word <&$in; do case $word in problem) echo ready 0;; round) echo done 0;; end) echo ended 0;; esac >&$out; done
echo no JSON'
refused() { # EXECUTABLE SENTENCE
    timeout 60 "$RUNG" bench --device cpu --kernels 01 --sizes 16 --threads 1 --budget 0.05 --quiet --baseline "./$1" > out.txt 2> said.txt
    check "$1: exit code" 2 $?
    grep -q -e "$2" said.txt || { echo "$1: $(cat said.txt)"; bad=1; }
}
refused dies 'ended too early (exit code 5)'
refused chatters 'uses another protocol ("hello")'
refused greets 'ended too early (exit code 0)'
refused mumbles 'uses another protocol ("what")'
grep -q '^01_naive .* [1-9]' out.txt || { echo "what was measured is lost with the baseline: $(cat out.txt)"; bad=1; }
refused silent 'did not answer'
refused lingers 'ended too early (killed'
refused answers 'line 1 is not JSON'
echo text > text; refused text 'neither a result of rung bench -o FILE nor an executable'
refused missing '--baseline is a file that cannot be read'

# A baseline that hangs does not outlive the command: not after a signal, and not after kill -9. It ends the wait at once.
script hangs 'echo $$ > hanging; echo rung-turns/1 >&$out; exec sleep 60'
for signal in TERM KILL; do
    rm -f hanging
    "$RUNG" bench --device cpu --kernels 01 --sizes 16 --threads 1 --runs 1 --quiet --baseline ./hangs > out.txt 2> said.txt &
    process=$!
    for _ in $(seq 600); do [ -s hanging ] && break; sleep 0.1; done
    sleep 1
    kill -$signal $process; wait $process 2> /dev/null; code=$?
    [ $signal = KILL ] || check "hangs: exit code" 130 $code
    for _ in $(seq 100); do kill -0 "$(cat hanging)" 2> /dev/null || break; sleep 0.1; done
    kill -KILL "$(cat hanging)" 2> /dev/null && { echo "the baseline is left after SIG$signal"; bad=1; }
done
[ -z "$(jobs -p)" ] || { echo "something is left"; bad=1; }
exit $bad
