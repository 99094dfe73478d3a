# SPDX-License-Identifier: Apache-2.0
# common.sh - for scripts that run rung on plain CUDA files: a folder for files, and what a run must print.
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-$RUNG_SOURCE/build/tools}/python LC_ALL=C
bad=0
fail() { echo "$*"; cat "$work/out"; bad=1; }

# run EXPECTED-CODE ARGUMENT... - the output is in $work/out
run() {
    local expected=$1 code=0
    shift
    "$RUNG" "$@" > "$work/out" 2>&1 || code=$?
    [ "$code" -eq "$expected" ] || fail "rung $*: exit code $code, expected $expected"
}
# says TEXT - the output contains the text, however it is wrapped
says() { tr -s ' \n' '  ' < "$work/out" | grep -qF -- "$1" || fail "the output does not say: $1"; }
# lacks TEXT - the output does not contain the text
lacks() { ! tr -s ' \n' '  ' < "$work/out" | grep -qF -- "$1" || fail "the output says: $1"; }
