#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conform.sh CASES SEED RANKS MPICH_RANKS: rung_cluster_gemm on problems drawn by number, on these numbers of ranks of the build's
# MPI, and on those of MPICH.
source "$(dirname "$0")/common.sh"
cases=$1
seed=$2
for ranks in $3; do
    launch own $ranks "$programs/cluster_conform" "$cases" "$seed" || fail "wrong on $ranks ranks"
done
if build_mpich conform "$sources/conform.c"; then
    for ranks in $4; do
        launch mpich $ranks "$work/conform" "$cases" "$seed" || fail "wrong on $ranks ranks of MPICH"
    done
fi
