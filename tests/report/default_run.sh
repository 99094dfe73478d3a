#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Without a file, a short ladder is run and drawn.
. "$(dirname "$0")/report.sh"
expect 0 "a ladder" --device cpu
grep -q 'rung-report.html: ' out || fail "it does not say where the page is"
whole rung-report.html
grep -q 'run just now' rung-report.html || fail "the ladder is not told"
for kernel in 01_naive 09_warptile; do
    grep -q ">$kernel<" rung-report.html || fail "$kernel is not in it"
done
exit $bad
