# SPDX-License-Identifier: Apache-2.0
# report.sh - what the scripts of this folder share: a folder to work in, and how they fail.
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 > /dev/null || { echo "python3 is not here"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset RUNG_DEVICE RUNG_VERBOSE RUNG_THREADS
bad=0
fail() { echo "$*"; bad=1; }

# expect CODE WHAT ARGUMENT...: rung report exits so; what it said is in out and err.
expect() {
    local code=$1 what=$2 got
    shift 2
    "$RUNG" report "$@" > out 2> err
    got=$?
    [ $got -eq "$code" ] || fail "$what: exit $got, not $code: $(head -c 600 err)"
}

# whole PAGE INPUT...: the page is as check_page.py wants it.
whole() { python3 "$here/check_page.py" "$@" > checked 2>&1 || { fail "$1:"; head -n 40 checked; }; }
