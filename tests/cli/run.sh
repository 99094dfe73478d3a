#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--update] CASE.sh - runs a case with `rung` on the path and compares what
# it prints with CASE.expect. Inside a case, `try COMMAND...` prints the command,
# its output and its exit code. A case that cannot run here exits with 77.
set -u
export RUNG_SOURCE=${RUNG_SOURCE:-$(realpath "$(dirname "$0")/../..")}
export RUNG=${RUNG:-$RUNG_SOURCE/build/release/rung}
update=no
[ "$1" = --update ] && { update=yes; shift; }
case=$1 expected=${1%.sh}.expect
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export PATH="$(dirname "$RUNG"):$PATH" LC_ALL=C
unset RUNG_DEVICE RUNG_VERBOSE RUNG_OVERLAP RUNG_THREADS
export RUNG_TUNING=off

try() {
    echo "\$ $*"
    "$@" 2>&1
    echo "(exit $?)"
}
export -f try
case=$(realpath "$case")
mkdir "$work/here"
(cd "$work/here" && bash "$case") > "$work/out" 2>&1
code=$?
[ $code -eq 77 ] && exit 77
sed -i '/^rung: warning: /d' "$work/out" # of a busy machine, which is no matter here
if [ $update = yes ]; then cp "$work/out" "$expected"; exit 0; fi
diff -u "$expected" "$work/out"
