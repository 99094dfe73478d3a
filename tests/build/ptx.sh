#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ptx.sh VERSION [EVERY] - assembles every EVERY-th PTX image of the library with NVIDIA's ptxas of CUDA 12.0 or 13. All
# images are labelled as PTX 8.0, older than the compiler that made them, so that drivers of CUDA 12.0 load them; they must
# use nothing newer. ptxas 12.0 assembles for the architecture of the image. ptxas 13 begins at sm_75, and assembles older
# images for it, as newer drivers do.
set -u
version=$1
every=${2:-1}
folder=$([ "$version" = 12.0 ] && echo cuda-12.0/nvidia/cuda_nvcc || echo 'python/lib/python3*/site-packages/nvidia/cu13')
ptxas=$(ls "$RUNG_TEST_TOOLS"/$folder/bin/ptxas 2> /dev/null | head -n 1)
[ -n "$ptxas" ] || { echo "ptxas $version was not found; run tools/install-test-tools"; exit 77; }
"$ptxas" --version | grep -q "release $version" || { "$ptxas" --version; echo "$ptxas is not version $version"; exit 1; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
count=$("$RUNG_BUILD/tests/build/unpack_images" "$work") || { echo "the images do not unpack"; exit 1; }
[ "$count" -gt 0 ] || { echo "the library was built without NVRTC and has no images"; exit 77; }

assemble() {
    local target oldest=$3
    target=$(grep -o '^\.target sm_[0-9]*' "$1" | cut -c 12-)
    "$2" -arch=sm_$((target < oldest ? oldest : target)) "$1" -o "$1.cubin" || { echo "$1"; return 1; }
    rm "$1.cubin"
}
export -f assemble
others=$(grep -L '^\.version 8\.0' "$work"/*.ptx)
[ -z "$others" ] || { echo "$others"; echo "these images have another PTX version"; exit 1; }
for ((i = 0; i < count; i += every)); do ls "$work/$(printf %03d $i)"_*.ptx; done > "$work/files"
xargs -P "$(nproc)" -I FILE bash -c 'assemble FILE "$0" "$1"' "$ptxas" $([ "$version" = 12.0 ] && echo 50 || echo 75) \
    < "$work/files" || exit 1
echo "$(wc -l < "$work/files") of $count assembled with ptxas $version"
