#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# isa.sh ISA KERNELS CASES [OPTION...] - verify.sh on the CPU, taken for a processor that has no
# more instructions than those (RUNG_CPU_ISA), in every type.
set -u
types=f32,f64,f16,bf16,i8,i32,f32:f16,f32:bf16,f64:f32,f16:f32,bf16:f32
RUNG_CPU_ISA=$1 exec bash "$(dirname "$0")/verify.sh" cpu "$2" "$3" --dtype $types "${@:4}"
