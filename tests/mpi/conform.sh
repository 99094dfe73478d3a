#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conform.sh CASES [SEED]: rung_mpi_gemm on problems drawn by number, on several numbers of ranks, of both MPIs.
source "$(dirname "$0")/common.sh"
cases=$1
seed=${2:-1}
for ranks in 1 2 3 4 6 7 8; do
    launch own $ranks "$programs/mpi_conform" "$cases" "$seed" || fail "wrong on $ranks ranks"
done
if build_mpich conform; then
    for ranks in 1 3 4 8; do
        launch mpich $ranks "$work/conform" "$cases" "$seed" || fail "wrong on $ranks ranks of MPICH"
    done
fi
