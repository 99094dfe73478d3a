#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# planted.sh NAME - plants that bug of planted.txt into a kernel's text and gives
# the file to `rung verify --kernels FILE` under Oclgrind: it must be caught, and
# the unpatched file, by the same way, must not be.
set -u
here=$(dirname "$0")
. "$here/oclgrind.sh"
RUNG_BUILD=${RUNG_BUILD:-$(dirname "$RUNG")}
read -r name kernel params script < <(grep "^$1 " "$here/planted.txt")
[ "$name" = "$1" ] || { echo "planted.txt has no $1"; exit 1; }

IFS=: read -r kernel header <<< "$kernel"
IFS=/ read -r params suite dtype compute <<< "$params"
IFS=@ read -r suite every <<< "$suite"
what=(--params "$params" --suite "${suite:-edges}" --every "${every:-6}" --dtype "${dtype:-f32}")
[ -n "${compute:-}" ] && what+=(--compute "$compute")
# See clean.sh: places are taken for unwritten.
[ "${suite:-}" = scattered ] && uninitialized=0

source=$RUNG_SOURCE/src/simt/kernels/$kernel.cu
cp "$source" "$work/healthy.cu"
if [ -n "$header" ]; then
    # The library brings headers of its own: this one stands in the file instead.
    sed "$script" "$(dirname "$source")/$header" > "$work/$header"
    cmp -s "$(dirname "$source")/$header" "$work/$header" && { echo "the script changes nothing"; exit 1; }
    sed -e "/^#include \"$header\"/{r $work/$header" -e 'd}' "$source" > "$work/planted.cu"
else
    sed "$script" "$source" > "$work/planted.cu"
fi
cmp -s "$work/healthy.cu" "$work/planted.cu" && { echo "the script changes nothing"; exit 1; }
diff "$work/healthy.cu" "$work/planted.cu"

# Many bugs share a healthy kernel and what it is verified by: with one build that is looked at once.
known=$RUNG_BUILD/healthy/$(cat "$RUNG" "$RUNG_BUILD/librung.so" "$work/healthy.cu" <(echo "${what[@]}" "${uninitialized:-1}") | sha256sum | cut -c -32)
if [ ! -e "$known" ]; then
    verify_checked --kernels "$work/healthy.cu" "${what[@]}"
    if [ $code -ne 0 ] || [ -s "$log" ]; then
        echo "the healthy kernel was taken for a broken one"; cat "$json"; head -n 20 "$log"; exit 1
    fi
    mkdir -p "$RUNG_BUILD/healthy" && touch "$known"
fi
verify_checked --kernels "$work/planted.cu" "${what[@]}"
jq -e '.failures | all(.ran)' "$json" > /dev/null ||
    { echo "the planted kernel did not run"; cat "$json"; exit 1; }
wrong=$(jq .wrong "$json") lines=$(wc -l < "$log")
echo "$name: $wrong wrong results, $lines lines from Oclgrind"
if [ $code -eq 0 ] && [ ! -s "$log" ]; then echo "NOT CAUGHT"; exit 1; fi
