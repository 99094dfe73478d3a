#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compare.sh [--incompatible-only] - compares the public headers with the dumps of this folder. Fails if a program that
# was compiled before would no longer compile or run: a function, field, enumerator or type that is gone, or has
# another type, offset or value. Without the option, also fails if the headers have grown and the dumps were not renewed.
set -eu
: "${RUNG_SOURCE:=$(realpath "$(dirname "$0")/../..")}"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/dump.sh"
folder=$RUNG_SOURCE/tests/abi bad=0
for header in "$RUNG_SOURCE"/include/rung/*.h; do
    name=$(basename "$header" .h)
    if [ ! -f "$folder/$name.abi" ]; then
        [ "${1:-}" = --incompatible-only ] || { echo "tests/abi/$name.abi is missing; run tests/abi/update"; bad=1; }
        continue
    fi
    dump_header "$name.h" "$work/$name.abi"
    list_interface "$folder/$name.abi" > "$work/before"
    list_interface "$work/$name.abi" > "$work/after"
    [ "$(wc -l < "$work/before")" -ge 1 ] || { echo "tests/abi/$name.abi has no interface"; exit 1; }
    lost=$(comm -23 "$work/before" "$work/after")
    code=0
    abidiff --harmless "$folder/$name.abi" "$work/$name.abi" > "$work/report" || code=$?
    [ $((code & 3)) -eq 0 ] || { cat "$work/report"; echo "abidiff failed"; exit 1; }
    if [ -n "$lost" ]; then
        cat "$work/report"
        printf '%s\n' "rung/$name.h: programs compiled before do not work with it; these are gone or have changed:" "$lost"
        bad=1
    elif [ $code -ne 0 ] && [ "${1:-}" != --incompatible-only ]; then
        cat "$work/report"
        echo "rung/$name.h has grown; run tests/abi/update and commit the dumps"
        bad=1
    else
        echo "rung/$name.h: $(wc -l < "$work/before") facts of the interface are unchanged"
    fi
done
for dump in "$folder"/*.abi; do
    name=$(basename "$dump" .abi)
    if [ ! -f "$RUNG_SOURCE/include/rung/$name.h" ]; then
        echo "include/rung/$name.h is gone; tests/abi/$name.abi describes it"
        bad=1
    fi
done
exit $bad
