#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Types every command of a page, line by line, in a fresh copy of the project, as a newcomer
# would: readme.sh [PAGE.md], README.md by default. Only ```sh blocks are commands; all must succeed.
set -eu
page=${1:-README.md}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
# As it would be cloned, with what is not committed yet.
git -C "$RUNG_SOURCE" ls-files -z -co --exclude-standard | (cd "$RUNG_SOURCE" && tar -c --null -T - --ignore-failed-read) |
    tar -x -C "$work"
cd "$work"
# If a caller compiles with ccache, and with the generator of the release build, this build finds the compiled files.
export CCACHE_BASEDIR=$work

# A newcomer answers yes, and is not root; here sudo may be missing.
export DEBIAN_FRONTEND=noninteractive APT_CONFIG=$work/apt.conf
echo 'APT::Get::Assume-Yes "true";' > "$APT_CONFIG"
command -v sudo > /dev/null || { mkdir bin && printf '#!/bin/sh\nexec "$@"\n' > bin/sudo && chmod +x bin/sudo; }
# Debian's Python, whose packages the page installs: the tests may run with another one.
PATH=$work/bin:/usr/bin:/bin:$PATH

awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" > commands.sh
[ "$(grep -c . commands.sh)" -gt 5 ] || { echo "$page has no commands?"; exit 1; }
bash -ev commands.sh < /dev/null || { echo "$page: the last command above failed"; exit 1; }
