#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each function of the C library that rung calls is one that fault_calls makes fail, or is in not_wrapped.txt with the reason.
set -u
imported=$(for file in "$RUNG_BUILD"/librung*.so "$RUNG"; do
    nm -D --undefined-only "$file" | awk '$2 ~ /@GLIBC/ { sub(/@.*/, "", $2); print $2 }'
done | sort -u)
[ "$(wc -l <<< "$imported")" -ge 100 ] || { echo "no imported functions were found"; exit 1; }
known=$(nm -D --defined-only "$RUNG_BUILD/tests/faults/libfault_calls.so" | awk '$2 == "T" { print $3 }'
    grep -v '^#' "$RUNG_SOURCE/tests/faults/not_wrapped.txt" | tr ' ' '\n')
missing=$(comm -23 <(printf '%s\n' "$imported") <(sort -u <<< "$known"))
[ -z "$missing" ] || { echo "neither wrapped nor in tests/faults/not_wrapped.txt:" $missing; exit 1; }
