#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong on one rank ends the call on all, and says where: wrong arguments, a device that fails, a rank that does not
# call or that is stopped. Where a rank is gone the job ends by itself, soon, and every other rank has named it.
source "$(dirname "$0")/common.sh"

# gone MPI PROGRAM HOW RANK WORDS
gone() {
    local start=$SECONDS
    launch "$1" 4 "$2" "$3" "$4" > "$work/said" 2>&1 && fail "$1: $3 $4 ended well"
    [ $((SECONDS - start)) -lt 20 ] || fail "$1: $3 $4 took $((SECONDS - start)) s"
    for rank in 0 1 2 3; do
        [ $rank -eq "$4" ] || grep -q "^rank $rank: .*$5" "$work/said" ||
            { cat "$work/said"; fail "$1: $3 $4: rank $rank does not name it"; }
    done
    for _ in $(seq 50); do
        pgrep -f "^$2 $3 $4" > /dev/null || return 0
        sleep 0.1
    done
    fail "$1: $3 $4 leaves processes behind"
}

# all_of MPI PROGRAM
all_of() {
    for how in refuse multiply send slow; do
        limit=100 launch "$1" 4 "$2" $how || fail "$1: $how"
    done
    gone "$1" "$2" first 1 'a rank of the communicator has not called rung_cluster_gemm for 2 s'
    gone "$1" "$2" absent 2 'rank 2 has sent nothing for 2 s'
    gone "$1" "$2" stop 0 'rank 0 has sent nothing for 2 s'
    gone "$1" "$2" stop 3 'rank 3 has sent nothing for 2 s'
}
all_of own "$programs/cluster_failures"
! build_mpich failures "$sources/failures.c" "$sources/mpi_faults.c" || all_of mpich "$work/failures"
