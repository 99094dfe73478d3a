#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files that anybody may have written: text stays text, no number draws outside, and what is no result is refused with a
# sentence.
. "$(dirname "$0")/report.sh"
python3 "$here/hostile_input.py" . || exit 1

for name in script huge zero negative one many long sweep odd_params stopped tune explain peak bytes; do
    expect 0 "$name" $name.json -o $name.html --charts $name
    case $name in
    long | bytes) whole $name.html ;; # texts that long are cut
    *) whole $name.html $name.json ;;
    esac
    [ ! -d $name ] || python3 "$here/check_page.py" --svg $name/*.svg > checked || { fail "$name/*.svg"; cat checked; }
done
expect 0 "all at once" script.json huge.json zero.json many.json tune.json explain.json peak.json -o all.html
whole all.html script.json huge.json zero.json many.json tune.json explain.json peak.json
grep -q 'is incomplete' stopped.html || fail "an interrupted file is drawn as if it were whole"
grep -q '&#60;script&#62;' script.html || fail "where is the text?"
grep -q 'Parameters of 07_tile2d' sweep.html || fail "a sweep has no map"
expect 77 "all refused" refused.json -o refused.html
whole refused.html refused.json
grep -q 'it is wrong' refused.html || fail "why a row was refused is not told"
expect 77 "nothing in it" empty.json -o empty.html
whole empty.html empty.json
grep -q 'Nothing to show' empty.html || fail "an empty page does not say so"

# refused_with CODE WORD FILE
refused_with() {
    expect 2 "$2" "$2" -o never.html
    grep -q "^rung: $2: .*$1" err || fail "$2: it says: $(head -c 300 err)"
    [ ! -e never.html ] || fail "$2: a page of it"
}
head -c 300 one.json > cut.json
refused_with 'not JSON' cut.json
refused_with 'not JSON' deep.json
refused_with 'not a result' foreign.json
refused_with 'not a result' array.json
refused_with 'not a result' verify.json
refused_with 'no results' no_results.json
refused_with 'neither a time' below_zero.json
refused_with 'cannot be opened' missing.json
expect 2 "one bad of two" one.json foreign.json -o never.html
[ ! -e never.html ] || fail "a page of half of it"
exit $bad
