#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Planted mistakes are named by `rung explain`, each with the line it is in, and the same kernels
# without them are not accused. Needs NVRTC and nvdisasm from tools/install-test-tools; 77 where they
# are missing.
set -u
here=$RUNG_SOURCE/tests/explain/kernels
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
RUNG_NVDISASM=$(ls -d "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cu13/bin/nvdisasm 2> /dev/null | head -n 1)
export RUNG_NVDISASM
log=$(mktemp)
trap 'rm -f "$log"' EXIT
wrong=0

# The number of the line of a file that has this text.
line_of() { grep -n -F -- "$2" "$1" | head -n 1 | cut -d: -f1; }

explain() {
    "$RUNG" explain "$@" --quiet --arch sm_86 > "$log" 2>&1
    local code=$?
    [ $code -eq 77 ] && { cat "$log"; exit 77; }
    [ $code -eq 0 ] || { echo "rung explain $* exits with $code"; cat "$log"; wrong=1; }
    ! grep -q "^Missing tools" "$log" || { cat "$log"; exit 77; }
}

# names FILE WORDS LINE: a finding that begins so, there.
names() {
    grep -q "^  $1:$3: $2" "$log" && return
    echo "no \"$2\" at $1:$3 in:"
    cat "$log"
    wrong=1
}

says() { grep -q "$1" "$log" || { echo "no \"$1\" in:"; cat "$log"; wrong=1; }; }

predicted() { sed -n 's/^Predicted: \([0-9]*\) GFLOPS.*/\1/p' "$log"; }

blames_not() {
    grep -q ": $1" "$log" || return
    echo "\"$1\" where there is none, in:"
    cat "$log"
    wrong=1
}

file=$here/uncoalesced.cu
explain "$file" --m 1024
names uncoalesced.cu "uncoalesced load of a" "$(line_of "$file" "the load")"
explain 02 --m 1024
blames_not uncoalesced

file=$here/column.cu
explain "$file" --m 1024
names column.cu "bank conflict: a load of tile takes 32.0 wavefronts" "$(line_of "$file" "down a column")"
says "64 barriers," # 1024 of k in tiles of 32, two each; the file does not say how long its steps are
unpadded=$(predicted)
explain "$file" --m 1024 --params PAD=1
blames_not "bank conflict"
[ "$unpadded" -lt "$(predicted)" ] || { echo "padding a column does not pay: $unpadded GFLOPS to $(predicted)"; wrong=1; }

file=$here/half_empty.cu
explain "$file" --m 1024 --n 960
names half_empty.cu "half-empty warp: a block of 48 threads has a warp with 16" "$(line_of "$file" "KERNEL(")"

file=$here/spill.cu
explain "$file" --m 1024 --k 64
names spill.cu "spill: " "$(line_of "$file" "here */")"
explain "$file" --m 1024 --k 64 --params SIDE=2
blames_not spill

file=$here/cliff.cu
explain "$file" --m 1024
names cliff.cu "occupancy cliff: 34000 bytes of shared memory leave room for 2 blocks" "$(line_of "$file" "KERNEL(")"
explain "$file" --m 1024 --params WORDS=8256
blames_not "occupancy cliff"

# Loads that the compiler widens, and the loop that stands in for one that nvdisasm does not read.
explain 04 --m 1024
says "a_tile *16  *" # four words of a row at once
"$RUNG" explain 04 --machine p100 --m 1024 --quiet > "$log" 2>&1 || { echo "no p100"; wrong=1; }
says "hottest loop, compiled for sm_75"

# Less than a tile, and types that are not of 4 bytes.
for odd in "04 --m 5 --n 7 --k 3" "07 --m 300 --dtype f64" "08 --m 300 --dtype i8" "12 --m 300 --k 40 --dtype tf32"; do
    # shellcheck disable=SC2086
    explain $odd
    says "^Predicted: "
done

# A kernel that multiplies wrong is not explained away.
"$RUNG" explain "$here/missing_product.cu" --m 64 --quiet > "$log" 2>&1
[ $? -eq 1 ] || { echo "a wrong kernel does not exit with 1"; cat "$log"; wrong=1; }
says "computes a wrong result"
exit $wrong
