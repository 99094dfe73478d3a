#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rung bench --output: the file is whole at any moment, also after kill -9.
. "$(dirname "$0")/terminal.sh"
bench=("$RUNG" bench --device cpu --kernels 01,02 --budget 0.03)

"${bench[@]}" --sizes 16:960:16 --json --output out.json > table.txt 2> err.txt &
bench_process=$!
wait_for test -e out.json
looks=0
while [ "$(jq '.results | length' out.json)" -lt 8 ]; do
    jq -e '.schema == "rung-bench/1" and .complete == false and (.results | length) >= 2' out.json > /dev/null ||
        fail "it was not whole"
    looks=$((looks + 1))
    [ $looks -lt 500 ] || fail "it does not grow"
done
kill -KILL $bench_process && wait $bench_process 2> /dev/null
holds out.json '.complete == false and (.results | length) >= 8 and (.results | length) % 2 == 0'
holds out.json 'all(.results[]; .verified and .median_ns > 0)'
[ "$(grep -c '^f32 ' table.txt)" -ge 4 ] || fail "no tables meanwhile"
"$RUNG" report out.json -o killed.html > /dev/null || fail "rung report does not take it: exit $?"
grep -q '02_coalesced' killed.html && grep -qi 'interrupted\|not complete\|stopped' killed.html || fail "the page does not say that it was stopped"

# To its end: every form, tables on standard output beside those that others read.
"${bench[@]}" --sizes 16,24 --json -o full.json > table.txt || fail "exit $?"
holds full.json '.complete == true and (.results | length) == 4'
grep -q '^f32 24 x 24 x 24' table.txt && ! grep -q schema table.txt || fail "the table is not on standard output"
"${bench[@]}" --sizes 16,24 --csv -o full.csv > table.txt || fail "exit $?"
[ "$(wc -l < full.csv)" -eq 5 ] && head -n 1 full.csv | grep -q '^device,kernel' || fail "CSV"
grep -q '^f32 24 x 24 x 24' table.txt || fail "CSV: the table is not on standard output"
# Without --json the file is JSON too, whatever its name, and rung compare reads it.
"${bench[@]}" --sizes 16,24 -o plain.txt > table.txt || fail "exit $?"
holds plain.txt '.schema == "rung-bench/1" and .complete == true and (.results | length) == 4'
grep -q '^f32 24 x 24 x 24' table.txt && ! grep -q schema table.txt || fail "no --json: the table is not on standard output"
"$RUNG" compare plain.txt full.json > compared.txt || fail "rung compare does not read what -o wrote: exit $?"
# A file that rung compare cannot read is named, with the command that writes one it can.
"$RUNG" compare full.csv full.json > compared.txt 2> err.txt
[ $? -eq 2 ] && grep -q '^rung: full.csv: .*rung bench -o FILE' err.txt || fail "a CSV file: $(cat err.txt)"
ls | grep -qE '\.(json|csv|txt)\.' && fail "something was left beside"

# A file of another's beside it stays, and the mode is that of a new file, or of the one replaced.
echo mine > new.json.part
(umask 027 && "${bench[@]}" --sizes 16 -o new.json > /dev/null) || fail "exit $?"
[ "$(cat new.json.part)" = mine ] || fail "new.json.part was overwritten"
[ "$(stat -c %a new.json)" = 640 ] || fail "the mode is $(stat -c %a new.json)"
chmod 600 new.json
"${bench[@]}" --sizes 16 -o new.json > /dev/null || fail "exit $?"
[ "$(stat -c %a new.json)" = 600 ] || fail "the mode became $(stat -c %a new.json)"

# A link stays one.
echo '{}' > real.json
ln -s real.json link.json
"${bench[@]}" --sizes 16 --json -o link.json > /dev/null || fail "exit $?"
[ -L link.json ] || fail "a link was replaced"
holds real.json .complete

ln -s new.json dangling.json
"${bench[@]}" --sizes 16 --json -o dangling.json > /dev/null || fail "exit $?"
[ -L dangling.json ] || fail "a link to a new file was replaced"
holds new.json .complete

# A file of somebody else beside the output stays, and nothing is left beside it.
echo mine > beside.json.part
"${bench[@]}" --sizes 16 --json -o beside.json > /dev/null || fail "exit $?"
[ "$(cat beside.json.part)" = mine ] || fail "beside.json.part was overwritten"
[ "$(ls beside.json* | tr '\n' ' ')" = "beside.json beside.json.part " ] || fail "left beside: $(ls beside.json*)"

# The result does not replace the one that it is compared with.
cp full.json baseline.json
for output in --output --baseline-json; do
    "${bench[@]}" --sizes 16,24 --baseline baseline.json --json $output baseline.json > table.txt 2> err.txt
    [ $? -eq 2 ] && grep -q 'baseline.json is also the file of --baseline' err.txt || fail "$output is the baseline"
    cmp baseline.json full.json || fail "$output: the baseline was replaced"
done

# What cannot be written is told before anything is measured, or leaves what was there.
for place in . /dev/null none/out.json ""; do
    "${bench[@]}" --sizes 4096 --budget 600 --json -o "$place" > table.txt 2> err.txt
    [ $? -eq 2 ] && grep -q -- --output err.txt && [ ! -s table.txt ] || fail "-o $place"
done
[ -c /dev/null ] || fail "/dev/null is gone"
before=$(cat full.json)
(
    trap '' XFSZ
    ulimit -f 0
    "${bench[@]}" --sizes 16 --json -o full.json 2>&1 | cat
    exit "${PIPESTATUS[0]}"
) > /dev/null
[ $? -eq 2 ] || fail "a disk that takes nothing: exit code"
[ "$before" = "$(cat full.json)" ] || fail "a disk that takes nothing: the file was harmed"
exit 0
