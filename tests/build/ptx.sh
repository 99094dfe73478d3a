#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ptx.sh [EVERY] - NVIDIA's assembler takes the PTX that the library carries, all of it or one
# in so many: it says a version that is older than the compiler's, and must use nothing that is
# newer. ptxas 13 begins at sm_75, which is the way of PTX: older text, newer machine.
set -u
every=${1:-1}
ptxas=$(ls "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cu13/bin/ptxas 2> /dev/null | head -n 1)
[ -n "$ptxas" ] || { echo "ptxas is not here; see tools/install-test-tools"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
count=$("$RUNG_BUILD/tests/build/unpack_images" "$work") || { echo "the images do not unpack"; exit 1; }
[ "$count" -gt 0 ] || { echo "the library was built without NVRTC and carries no images"; exit 77; }
bad=0 assembled=0
for ((i = 0; i < count; i += every)); do
    file=$(ls "$work/$(printf %03d $i)"_*.ptx)
    grep -q '^\.version 8\.0' "$file" || { echo "$file says another version"; bad=1; }
    target=$(grep -o '^\.target sm_[0-9]*' "$file" | cut -c 12-)
    assembled=$((assembled + 1))
    "$ptxas" -arch=sm_$((target < 75 ? 75 : target)) "$file" -o "$work/out.cubin" || { echo "$file"; bad=1; }
done
echo "$assembled of $count assembled"
exit $bad
