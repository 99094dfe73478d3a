#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# port_model_aarch64.sh FOLDER [RESULT] - the inner loops for AArch64 need few clocks besides their multiplications. FOLDER is
# a build for AArch64 by GCC. The loops must keep no vector on the stack, and have at most 1.25 other instructions per
# multiplication. With RESULT, llvm-mca also simulates each loop with its models of processors: the loops must reach 95 % of
# the multiplications that the processor starts per clock. The table is written to RESULT.
set -u
. "$(dirname "$0")/inner_loop.sh"
folder=$1 bad=0
command -v aarch64-linux-gnu-objdump > /dev/null || { echo "aarch64-linux-gnu-objdump is not installed (Debian: binutils-aarch64-linux-gnu)"; exit 77; }
for mca in llvm-mca-{19,18,17,16} none; do
    command -v $mca > /dev/null && break
done
[ $# -eq 1 ] || [ $mca != none ] || { echo "llvm-mca of LLVM 16 or later is not installed (Debian: llvm-19)"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# check FILE FUNCTION MULTIPLICATIONS PROCESSOR:PER_CLOCK...: the loop of a function of FILE, on processors and the
# multiplications that each starts per clock.
check() {
    object=$(find "$folder/CMakeFiles/rung_objects.dir" -name "$1.c.o")
    [ -n "$object" ] || { echo "$folder has no $1.c.o; run the test build_aarch64_all first"; exit 77; }
    aarch64-linux-gnu-objdump -d --no-show-raw-insn "$object" |
        inner_loop "$2" ' *(//|<).*' '^(b|cb|tb)' '^ [a-z]*mm?la ' b.ne > "$work/loop.s"
    multiplications=$(grep -c '^ [a-z]*mm\?la ' "$work/loop.s") instructions=$(($(wc -l < "$work/loop.s") - 1))
    [ "$multiplications" -eq "$3" ] || { echo "$2: the loop has $multiplications multiplications, not $3"; bad=1; }
    [ $instructions -le $((multiplications * 225 / 100)) ] || { echo "$2: the loop has $instructions instructions for $multiplications multiplications"; bad=1; }
    ! grep -E ' (ld|st)[^ ]* +([qdsz][0-9]|\{).*\[sp' "$work/loop.s" || { echo "$2: the loop keeps vectors on the stack"; bad=1; }
    [ -n "$result" ] || return
    for processor in "${@:4}"; do
        clocks=$($mca -mtriple=aarch64 -mcpu="${processor%:*}" -iterations=100 "$work/loop.s" 2> /dev/null | awk '/^Total Cycles:/ { print $3 / 100 }')
        awk -v f="$1 $2" -v p="${processor%:*}" -v r="${processor#*:}" -v m="$multiplications" -v i=$instructions -v c="${clocks:-1e9}" 'BEGIN {
            sub(" ", "\t", f); printf "%s\t%s\t%d\t%d\t%d\t%.2f\t%.3f\n", f, p, r, m, i, c, m / r / c; exit m / r / c < 0.95 }' >> "$work/table" ||
            { echo "$2: ${clocks:-no} clocks on $processor for $multiplications multiplications"; bad=1; }
    done
}

result=${2:-}
printf 'file\tfunction\tprocessor\tlimit_per_clock\tmultiplications\tinstructions\tclocks\tshare_of_limit\n' > "$work/table"
all=(neoverse-n1:2 neoverse-v1:4 neoverse-n2:2 neoverse-v2:4)
for type in f32 f64; do
    check microkernel_portable ${type}_packed_v2_8 64 "${all[@]}"
    check microkernel_sve256 ${type}_packed_v2_12 96 neoverse-v1:2
    check microkernel_sve512 ${type}_packed_v2_12 96 a64fx:2
done
check mmla_i8mm rungi_mmla_tile_i8 24 "${all[@]:1}"
check mmla_bf16 rungi_mmla_tile_bf16 24 "${all[@]:1}"
[ -z "$result" ] || cp "$work/table" "$result"
exit $bad
