#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cpu_isa.sh ISA KERNELS CASES [OPTION...] - verify.sh on the CPU, taken for a processor that has no
# more instructions than those (RUNG_CPU_ISA).
set -u
RUNG_CPU_ISA=$1 exec bash "$(dirname "$0")/verify.sh" cpu "${@:2}"
