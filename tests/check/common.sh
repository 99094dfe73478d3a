# SPDX-License-Identifier: Apache-2.0
# common.sh - for scripts that run `rung check`: a folder for files, and what a run must print.
RUNG=${RUNG:-$RUNG_BUILD/rung}
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
here=$RUNG_SOURCE/tests/check
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# run CODE ARGUMENT...: runs rung check; its exit code must be CODE. The output is in $work/out.
run() {
    code=$1
    shift
    "$RUNG" check "$@" > out 2>&1
    result=$?
    [ $result -eq "$code" ] && return
    echo "rung check $*: exit code $result instead of $code"
    cat out
    failures=$((failures + 1))
}

# prints PATTERN: the last output has the text (of grep -E), whatever the line breaks.
prints() {
    tr -s ' \n' ' ' < out | grep -Eq -- "$1" && return
    echo "the output lacks: $1"
    cat out
    failures=$((failures + 1))
}

# lacks PATTERN: the last output does not have the text.
lacks() {
    tr -s ' \n' ' ' < out | grep -Eq -- "$1" || return
    echo "the output has: $1"
    cat out
    failures=$((failures + 1))
}
