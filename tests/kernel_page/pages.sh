#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pages.sh - pages of `rung explain --html`: their numbers are those of --json, hostile sources stay text, wrong kernels are shown,
# and wrong options are refused.
set -u
. "$(dirname "$0")/common.sh"

page 0 naive "$here/kernels/naive.cu"
"$RUNG" explain "$here/kernels/naive.cu" --quiet --json > "$work/plain.json"
python3 "$here/check_page.py" "$work/naive.html" "$work/naive.json" "$work/plain.json" || fail "naive: differs from the JSON without a page"
shows naive 'uncoalesced load of A: 32.0 sectors per request'
page 0 conflict "$here/kernels/conflict.cu"
shows conflict 'bank conflict: a store of b_tile takes 32.0 wavefronts'

# One of rung's own kernels; the next kernel of the ladder has no part in the page.
page 0 ladder 04 --m 256
"$RUNG" explain 04 --m 256 --quiet --json > "$work/plain.json"
python3 "$here/check_page.py" "$work/ladder.html" "$work/ladder.json" "$work/plain.json" || fail "ladder: differs from the JSON without a page"
lacks ladder 05_padded

# A kernel with a race multiplies wrongly: the page shows why, with both lines and threads, and the exit code says it.
page 1 race "$here/kernels/race.cu"
shows race 'The result is wrong'
shows race 'race: lines 11 and 14'
shows race 'block (0, 0, 0), thread (15, 0, 0)'
jq -e '.kernels[0] | (.checks.findings | map(.kind) | index("race")) != null and .predicted_gflops == null and .error != ""' \
    "$work/race.json" > /dev/null || fail "race: the JSON lacks the race, the error, or has a prediction"

# Text of the file stays text.
python3 "$here/hostile.py" "$here/kernels/conflict.cu" "$work/h<b>&\"'.cu"
page 0 hostile "$work/h<b>&\"'.cu"
[ "$(grep -c 'hacked' "$work/hostile.html")" -ge 3 ] || fail "hostile: the comments are not on the page"
! grep -qE '<script>window|<img|</table></script>' "$work/hostile.html" || fail "hostile: a comment became markup"

# Wrong uses.
refused() {
    local code=0 words=$1
    shift
    "$RUNG" explain "$@" --quiet > "$work/out" 2>&1 || code=$?
    [ $code -eq 2 ] && tr -s ' \n' '  ' < "$work/out" | grep -qF -- "$words" || { fail "explain $*: exit code $code"; cat "$work/out"; }
}
refused 'needs one kernel or file' --all --html "$work/x.html"
refused 'names the kernel file' "$here/kernels/naive.cu" --html "$here/kernels/naive.cu"
refused 'nowhere/x.html' "$here/kernels/naive.cu" --html "$work/nowhere/x.html"
cat "$here/kernels/naive.cu" <(sed 's/sgemm_naive/second/; s/void launch/void launch2/' "$here/kernels/naive.cu") > "$work/two.cu"
refused 'name it with --kernel' "$work/two.cu" --html "$work/two.html"
[ ! -e "$work/two.html" ] || fail "a page was written for two kernels"
page 0 second "$work/two.cu" --kernel second

# Without the time for its checks, a kernel has no page.
code=0
"$RUNG" explain "$here/kernels/naive.cu" --quiet --time-limit 0.000001 --html "$work/late.html" > "$work/out" 2>&1 || code=$?
[ $code -eq 1 ] && [ ! -e "$work/late.html" ] || { fail "a page without checks: exit code $code"; cat "$work/out"; }
exit $bad
