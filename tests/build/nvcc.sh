#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each kernel file compiles by itself with a bare `nvcc -c` (13_wgmma needs its architecture and type), and refuses by its own
# #error what the library refuses before compiling.
set -u
nvcc=$(ls "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cu13/bin/nvcc 2> /dev/null |
       head -n 1)
[ -n "$nvcc" ] || nvcc=$(command -v nvcc)
[ -n "$nvcc" ] || { echo "nvcc is not here; see tools/install-test-tools"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
count=0
for file in "$RUNG_SOURCE"/src/simt/kernels/*.cu; do
    options=()
    case $file in *13_wgmma.cu) options=(-gencode "arch=compute_90a,code=sm_90a" -DIN_F16 -DOUT_F16) ;; esac
    "$nvcc" "${options[@]}" -c "$file" -o "$work/kernel.o" || { echo "$file does not compile"; exit 1; }
    [ -s "$work/kernel.o" ] || exit 1
    echo "$(basename "$file") compiles"
    count=$((count + 1))
done
[ $count -ge 10 ] || { echo "only $count files"; exit 1; }
if "$nvcc" -DTILE=40 -c "$RUNG_SOURCE/src/simt/kernels/04_shared.cu" -o "$work/no.o" > "$work/log" 2>&1; then
    echo "TILE=40 was taken"; exit 1
fi
grep -q "TILE\*TILE threads must fit" "$work/log"
