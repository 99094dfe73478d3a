#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README's install line has every Debian package that README's commands need, and the committed run of
# all commands in a new Debian (readme_debian.sh) was made with that line and succeeded.
set -u
cd "$RUNG_SOURCE" || exit 1
page=${1:-README.md} result=results/readme/debian12.txt bad=0
commands=$(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page")
line=$(grep '^sudo apt-get install ' <<< "$commands")
[ "$(wc -l <<< "$line")" -eq 1 ] && [ -n "$line" ] || { echo "$page has no install line, or several"; exit 1; }

# needs PATTERN PACKAGE... - where a command matches, the packages must be in the line
needs() {
    local pattern=$1 package
    shift
    grep -qE "$pattern" <<< "$commands" || return 0
    for package in "$@"; do
        grep -qE "(^| )${package//+/\\+}( |\$)" <<< "$line" ||
            { echo "$page's install line lacks $package, which this needs: $(grep -m 1 -E "$pattern" <<< "$commands")"; bad=1; }
    done
}
needs '^cmake ' cmake make gcc
needs 'rung .*(--device opencl|bench [0-9])' opencl-headers ocl-icd-libopencl1 pocl-opencl-icd
needs 'import numpy' python3-numpy
needs '\bpip |-m venv ' python3-venv

grep -qF -- "  $line" "$result" || { echo "$result was made with another install line; run tests/docs/readme_debian.sh $result"; bad=1; }
if grep -v '^#' "$result" | grep -v '^exit 0 '; then
    echo "... failed in Debian, by $result"
    bad=1
fi
exit $bad
