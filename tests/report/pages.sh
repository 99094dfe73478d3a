#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reports of the results that are kept here: whole, with every number of them, the pictures as files, nothing left to chance.
. "$(dirname "$0")/report.sh"
results=$RUNG_SOURCE/results
files=("$results"/xeon-pocl/{bench,bench_tuned,types,batch,overlap,tune,tune_row}.json "$results/explain/sm_86.json")

expect 0 "all of them" "${files[@]}" -o page.html --charts pictures --title 'What is "kept" <here> & now'
whole page.html "${files[@]}"
grep -q 'What is &#34;kept&#34; &#60;here&#62; &#38; now' page.html || fail "the title is not there as it was given"
for word in measured counted predicted 'The ladder at 1024' 'Speed over the size' 'Copying and computing' 'Coalescing and bank conflicts' \
    Occupancy 'docs/guides/benchmarking.md' 'Every field of every row'; do
    grep -q "$word" page.html || fail "there is no \"$word\""
done
pictures=$(ls pictures/*.svg | wc -l)
[ "$pictures" -ge 6 ] || fail "only $pictures pictures"
[ "$pictures" -eq "$(ls pictures/*.csv | wc -l)" ] || fail "a picture without its numbers"
[ "$pictures" -eq "$(grep -c '<svg class="wide"' page.html)" ] || fail "a picture of the page is no file"
python3 "$here/check_page.py" --svg pictures/*.svg > checked || { fail "pictures"; cat checked; }
! command -v xmllint > /dev/null || xmllint --noout page.html pictures/*.svg || fail "xmllint does not like it"

# The same files, the same page.
cp page.html first.html
expect 0 "once more" "${files[@]}" -o page.html --title 'What is "kept" <here> & now'
cmp -s first.html page.html || fail "the same files give another page"
"$RUNG" report "${files[0]}" --output - > standard.html && whole standard.html "${files[0]}"

# What cannot be.
expect 2 "a device that there is not" --device gpu -o none.html
[ ! -e none.html ] || fail "a page of nothing"
expect 2 "both" "${files[0]}" --device cpu
expect 2 "a folder that there is not" "${files[0]}" -o no/such/folder.html
# The page does not replace one of the files that it is made of.
cp "${files[0]}" input.json
ln -s input.json link.json
for output in input.json link.json; do
    expect 2 "-o $output" input.json -o $output
    cmp input.json "${files[0]}" || fail "-o $output: the input was replaced"
done
# The output is checked before a ladder is run, or a device is even opened.
mkdir folder
expect 2 "a folder as page" --device gpu -o folder
grep -q 'folder is a directory' err || fail "-o folder was not checked first: $(cat err)"
expect 2 "a page in a folder that there is not" --device gpu -o no/such/folder.html
grep -q 'no/such/folder.html cannot be written' err || fail "-o no/such/folder.html was not checked first: $(cat err)"
expect 2 "pictures in a file" "${files[0]}" -o page.html --charts page.html/pictures
exit $bad
