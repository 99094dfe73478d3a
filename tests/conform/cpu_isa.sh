#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cpu_isa.sh ISA KERNELS CASES [OPTION...] - verify.sh on the CPU, which uses no more instructions than those of ISA
# (RUNG_CPU_ISA). Some processors have VNNI and lack the dot products of BF16: there, `dot` and `amx` test I8 alone, with fewer
# cases.
set -u
isa=$1 kernels=$2 cases=$3
shift 3
options=("$@")
if [ "$isa" = dot ] || [ "$isa" = amx ]; then
    for ((i = 0; i < ${#options[@]}; i++)); do
        if [ "${options[i]}" = bf16,bf16:f32,i8 ] && ! grep -qw avx512_bf16 /proc/cpuinfo; then
            options[i]=i8 cases=$((cases / 3))
        fi
    done
fi
RUNG_CPU_ISA=$isa exec bash "$(dirname "$0")/verify.sh" cpu "$kernels" "$cases" "${options[@]}"
