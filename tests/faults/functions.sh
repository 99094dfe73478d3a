#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each function of the C library or of MPI that rung calls is one that fault_calls or cluster_points makes fail, or is in not_wrapped.txt
# with the reason.
set -u
cluster_points=$RUNG_BUILD/tests/faults/cluster_points

# list_imported FILE...: the functions of the C library and of MPI that these files import.
list_imported() {
    for file; do
        nm -D --undefined-only "$file" | awk '$2 ~ /@GLIBC|^MPI_/ { sub(/@.*/, "", $2); print $2 }'
    done | sort -u
}

imported=$(list_imported "$RUNG_BUILD"/librung*.so "$RUNG")
[ "$(wc -l <<< "$imported")" -ge 100 ] || { echo "no imported functions were found"; exit 1; }
wrapped=$(for file in "$RUNG_BUILD/tests/faults/libfault_calls.so" "$cluster_points"; do
    [ ! -e "$file" ] || nm -D --defined-only "$file" | awk '$2 == "T" { print $3 }'
done | sort -u)
listed=$(grep -v '^#' "$RUNG_SOURCE/tests/faults/not_wrapped.txt" | tr ' ' '\n')
missing=$(comm -23 <(printf '%s\n' "$imported") <(sort -u <<< "$wrapped"$'\n'"$listed"))
[ -z "$missing" ] || { echo "neither wrapped nor in tests/faults/not_wrapped.txt:" $missing; exit 1; }

# Planning a cluster cannot fail for lack of memory. If that changes, it needs a scenario.
planning=$(comm -12 <(list_imported "$RUNG_BUILD/librung-cluster.so") <(printf '%s\n' "$wrapped"))
[ -z "$planning" ] || { echo "no scenario makes these calls of librung-cluster fail:" $planning; exit 1; }
