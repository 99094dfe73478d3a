#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The vendor's library behind kernel 00 is right wherever it is not refused, by the same
# oracle as our own kernels: what is compared must compute the same.
set -u
out=$(mktemp) && trap 'rm -f "$out"' EXIT
"$RUNG" verify --device opencl --kernels 00 --dtype f32,f64 --suite quick --json > "$out"
code=$?
jq -c '.by_kernel[] | [.dtype, .cases, .wrong, .skipped, .why_skipped]' "$out"
grep -q "libclblast.so.1 was not found" "$out" && exit 77
[ $code -eq 77 ] && exit 77
[ $code -eq 0 ] || { cat "$out"; exit 1; }
jq -e '.wrong == 0 and .cases - .skipped > 100' "$out" > /dev/null || { cat "$out"; exit 1; }
