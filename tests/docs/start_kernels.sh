#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/start/first-kernel.md succeed, in a folder like the repository after a build. What its section "Break
# it" says happens, too: without the second barrier, rung verify finds a race and names the lines. The launch comments of
# docs/start/check-a-kernel.md work: page_output.sh types its commands.
set -u
. "$RUNG_SOURCE/tests/support/explain_tools.sh"
page=$RUNG_SOURCE/docs/start/first-kernel.md
folder=$(mktemp -d) && trap 'rm -rf "$folder" "$work"' EXIT
mkdir -p "$folder/build"
ln -s "$RUNG_BUILD" "$folder/build/release"
ln -s "$RUNG_SOURCE/src" "$folder/src"
cd "$folder" || exit 1
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" > commands
[ "$(grep -c . commands)" -ge 4 ] || { echo "$page has no commands?"; exit 1; }
bash -ev commands > output 2>&1 < /dev/null || { cat output; echo "$page: the last command above failed"; exit 1; }
grep -q 'found no data race' output || { cat output; echo "$page: rung verify says nothing about races"; exit 1; }

awk '/__syncthreads\(\)/ && ++count == 2 { next } { print }' src/simt/kernels/04_shared.cu > mine.cu
cmp -s src/simt/kernels/04_shared.cu mine.cu && { echo "04_shared.cu has no second barrier to delete"; exit 1; }
build/release/rung verify mine.cu > output 2>&1 && { cat output; echo "$page: the race is not found"; exit 1; }
grep -qi 'race' output && grep -qE 'mine\.cu:[0-9]+|lines? [0-9]+' output ||
    { cat output; echo "$page: rung verify does not name the race and its lines"; exit 1; }

page=$RUNG_SOURCE/docs/start/check-a-kernel.md
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" > comments
[ "$(grep -c '^// rung: ' comments)" -eq 2 ] || { echo "$page has not two launch comments: this test expects one for tiled.cu and one of saxpy.cu"; exit 1; }
# In place of the host code, which launches the kernel.
{ head -n 1 comments; sed '/^#include/d; /^}/q' "$RUNG_SOURCE/examples/cuda/tiled.cu"; } > tiled.cu
! grep -q '<<<' tiled.cu || { echo "the kernel of tiled.cu has not been cut out"; exit 1; }
build/release/rung verify tiled.cu > output 2>&1 || { cat output; echo "$page: rung verify does not take the launch comment"; exit 1; }
grep -qxF -- "$(tail -n 1 comments)" "$RUNG_SOURCE/examples/cuda/saxpy.cu" || { echo "$page: saxpy.cu has another launch comment"; exit 1; }
exit 0
