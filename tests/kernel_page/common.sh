# SPDX-License-Identifier: Apache-2.0
# common.sh - for the tests of pages: a folder for files, the tools of rung explain, and `page`, which makes a page and checks it.
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
here=$RUNG_SOURCE/tests/kernel_page
export VIRTUAL_ENV=${RUNG_TEST_TOOLS:-$RUNG_SOURCE/build/tools}/python LC_ALL=C.UTF-8
RUNG_NVDISASM=$(ls -d "$VIRTUAL_ENV"/lib/python3*/site-packages/nvidia/cu13/bin/nvdisasm 2> /dev/null | head -n 1)
export RUNG_NVDISASM
bad=0
fail() { echo "$*"; bad=1; }
"$RUNG" explain 01 --m 64 --quiet > "$work/out" 2>&1
! grep -q "^Missing tools\|was not found" "$work/out" || { cat "$work/out"; exit 77; }

# page EXPECTED-CODE NAME ARGUMENT... - writes $work/NAME.html and compares it with the JSON
page() {
    local expected=$1 name=$2 code=0
    shift 2
    "$RUNG" explain "$@" --quiet --json --html "$work/$name.html" > "$work/$name.json" 2> "$work/err" || code=$?
    [ "$code" -eq "$expected" ] || { fail "$name: exit code $code, expected $expected"; cat "$work/err"; }
    python3 "$here/check_page.py" "$work/$name.html" "$work/$name.json" > "$work/out" 2>&1 || { fail "$name:"; cat "$work/out"; }
}
# shows NAME TEXT - the page contains the text
shows() { grep -qF -- "$2" "$work/$1.html" || fail "$1.html does not contain: $2"; }
lacks() { ! grep -qF -- "$2" "$work/$1.html" || fail "$1.html contains: $2"; }
