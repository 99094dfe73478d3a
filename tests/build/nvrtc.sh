#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every kernel compiles with NVRTC 12.9 for ten architectures, and none spills.
set -u
library=$(ls "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 \
          2> /dev/null | head -n 1)
[ -n "$library" ] || { echo "NVRTC 12.9 is not here; see tools/install-test-tools"; exit 77; }
out=$(mktemp) && trap 'rm -f "$out"' EXIT
"$RUNG_BUILD/tools/compile_table" "$library" "$RUNG_SOURCE/src/simt/kernels/dialect.h" | tee "$out"
[ "${PIPESTATUS[0]}" -eq 0 ] || exit 1
kernels=$("$RUNG" kernels --device opencl --json | jq '.kernels | length')
architectures=$(cut -f 3 "$out" | grep -c '^sm_') 
[ "$(cut -f 3 "$out" | grep '^sm_' | sort -u | wc -l)" -eq 10 ] || { echo "not ten architectures"; exit 1; }
[ "$architectures" -ge $((10 * kernels)) ] || { echo "not every kernel"; exit 1; }
