# SPDX-License-Identifier: Apache-2.0
# common.sh - sourced by the scripts of this folder: a place to work in, and bare files of numbers that are the same each time.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset RUNG_DEVICE RUNG_VERBOSE RUNG_THREADS
export LC_ALL=C

fail() {
    echo "$*"
    exit 1
}

# floats SEED COUNT: F32 between -1 and 1, from rows of a small generator.
floats() { perl -e 'srand(shift); print pack("f<*", map { rand(2) - 1 } 1 .. shift)' "$1" "$2"; }
