#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# port_model.sh [RESULT] - the inner loops of the AVX2 micro-kernels need few clocks besides their multiply-adds, on
# processors that this machine is not. The loops must keep no vector on the stack, and have at most 1.4 other instructions per
# multiply-add. With RESULT, llvm-mca also simulates each loop with its models of six processors, which start two multiply-adds
# per clock: the loops must reach 95 % of that. The table is written to RESULT. LLVM must be 16 or later: the models of LLVM 14
# lack processors, and that of znver3 is wrong.
set -u
. "$(dirname "$0")/inner_loop.sh"
command -v objdump > /dev/null || { echo "objdump is not installed (Debian: binutils)"; exit 77; }
for mca in llvm-mca-{19,18,17,16} none; do
    command -v $mca > /dev/null && break
done
[ $# -eq 0 ] || [ $mca != none ] || { echo "llvm-mca of LLVM 16 or later is not installed (Debian: llvm-19)"; exit 77; }
object=$RUNG_BUILD/CMakeFiles/rung_objects.dir/src/cpu/microkernels/microkernel_avx2.c.o
[ -e "$object" ] || { echo "$object was not built: this processor has no AVX2 micro-kernels"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
objdump -d --no-show-raw-insn "$object" > "$work/object.s"

bad=0
printf 'function\tprocessor\tmultiply_adds\tinstructions\tclocks\tshare_of_limit\n' > "$work/table"
for function in f32_packed_v2_6 f64_packed_v2_6; do
    inner_loop $function ' *[#<].*' '^j' vfmadd jne < "$work/object.s" > "$work/loop.s"
    adds=$(grep -c vfmadd "$work/loop.s") instructions=$(($(wc -l < "$work/loop.s") - 1))
    [ "$adds" -eq 48 ] || { echo "$function: the loop has $adds multiply-adds, not 4 steps of 12"; bad=1; }
    [ $instructions -le $((adds * 24 / 10)) ] || { echo "$function: the loop has $instructions instructions for $adds multiply-adds"; bad=1; }
    ! grep '%rsp.*%ymm\|%ymm.*%rsp' "$work/loop.s" || { echo "$function: the loop keeps vectors on the stack"; bad=1; }
    [ $# -gt 0 ] || continue
    for processor in haswell skylake alderlake znver2 znver3 znver4; do
        clocks=$($mca -mcpu=$processor -iterations=100 "$work/loop.s" 2> /dev/null | awk '/^Total Cycles:/ { print $3 / 100 }')
        awk -v f=$function -v p=$processor -v a="$adds" -v i=$instructions -v c="${clocks:-1e9}" 'BEGIN {
            printf "%s\t%s\t%d\t%d\t%.2f\t%.3f\n", f, p, a, i, c, a / 2 / c; exit a / 2 / c < 0.95 }' >> "$work/table" ||
            { echo "$function: ${clocks:-no} clocks on $processor for $adds multiply-adds"; bad=1; }
    done
done
[ $# -eq 0 ] || cp "$work/table" "$1"
exit $bad
