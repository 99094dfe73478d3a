#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# opencl_panels.sh CASES [OPTION...] - verify.sh for rung_gemm on OpenCL with its calls cut into panels.
set -u
RUNG_OVERLAP=1 exec bash "$(dirname "$0")/verify.sh" opencl 0 "$1" --kernels rung_gemm "${@:2}"
