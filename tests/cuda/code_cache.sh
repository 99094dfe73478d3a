#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# code_cache.sh - compiled code on disk, with a real compiler: shared by processes, used again, kept
# apart by driver and architecture, and never taken from where it cannot be trusted.
set -u
. "$(dirname "$0")/emulated_driver.sh"
needs_nvrtc
export XDG_CACHE_HOME=$work/cache RUNG_VERBOSE=2
folder=$XDG_CACHE_HOME/rung

# multiply LOG [KERNEL]: one right product, compiled or not; the log goes there.
multiply() {
    with_compiler "$RUNG" verify --device cuda --kernels "${2:-04}" --params TILE=8 --m 20 > "$1" 2>&1 ||
        { cat "$1"; wrong "wrong or failed"; }
}
compiles() { multiply "$work/log"; grep -q "compiled 04_shared.cu" "$work/log"; }
files() { find "$folder" -type f ! -name 'aside.*' | wc -l; }

# Two at once, in an empty folder: both right, and one file.
multiply "$work/one" & first=$!
multiply "$work/two" & second=$!
wait $first || wrong "the first of two"
wait $second || wrong "the second of two"
[ "$(files)" -eq 1 ] && [ "$(find "$folder" -name 'aside.*' | wc -l)" -eq 0 ] || wrong "$(ls -l "$folder")"
cat "$work/one" "$work/two" | grep -q "compiled 04_shared.cu" || wrong "nobody compiled"

compiles && wrong "a second run compiles"
name=$(find "$folder" -type f) good=$work/good
cp -p "$name" "$good"

# Another driver and another architecture are other keys.
RUNG_EMULATED_DRIVER_VERSION=13000 compiles || wrong "another driver takes the same code"
RUNG_EMULATED_ARCH=89 compiles || wrong "another architecture takes the same code"
[ "$(files)" -eq 3 ] || wrong "$(ls -l "$folder")"
compiles && wrong "the first code is gone"

# planted WHAT: what lies under the right name now is not loaded and is made anew.
planted() {
    compiles || wrong "$1 was loaded"
    cmp -s "$name" "$good" && [ ! -L "$name" ] || wrong "$1 was not replaced"
    compiles && wrong "$1: what replaced it is not used"
    return 0
}
head -c 200 "$good" > "$name"; planted "a truncated file"
: > "$name"; planted "an empty file"
size=$(stat -c %s "$good")
for at in 0 20 50 70 100 $((size / 2)) $((size - 1)); do
    cp -p "$good" "$name"
    printf "\\x$(printf %02x $(( $(od -An -tu1 -j "$at" -N 1 "$good") ^ 4 )))" |
        dd of="$name" bs=1 seek="$at" conv=notrunc status=none
    planted "a flipped bit in byte $at"
done
cp -p "$good" "$work/elsewhere"; ln -sf "$work/elsewhere" "$name"; planted "a symbolic link"
cp -p "$good" "$name"; chmod 666 "$name"; planted "a file that all may write"
if [ "$(id -u)" -eq 0 ]; then
    cp -p "$good" "$name"; chown 65534 "$name"; planted "another user's file"
fi
cp -p "$good" "$name"; compiles && wrong "a sound file is not taken"
exit 0
