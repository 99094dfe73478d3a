#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kills.sh N [MPI ...]: ranks of a cluster bench that die by SIGKILL, N times at random moments: each time the job ends within
# 30 s, with a failing code and a message that names the rank, and leaves no process behind. With MPICH too, whose own message
# names none, for which the program is built again.
source "$(dirname "$0")/common.sh"
count=$1
shift
[ -x "$RUNG_BUILD/rung-cluster" ] || exit 77
mpis=${*:-own mpich}

build_cluster() {
    build_mpich rung-cluster "$RUNG_SOURCE"/lab/cluster/mpi/*.c "$RUNG_BUILD/lab/librung_lab.a" && cp "$RUNG_BUILD/rung" "$work/rung"
}

# The processes of a job, by the folder of their program and a number in their arguments; and of them the ranks, which are
# children of the command. (Others look at libraries for a moment.)
processes() { pgrep -f "^$1/rung-cluster bench .*--budget=$2( |\$)"; }
ranks_of() {
    local parents
    parents=$(pgrep -f "^$1/rung bench .*--budget $2( |\$)" | paste -sd,)
    [ -n "$parents" ] && pgrep -P "$parents" -f "^$1/rung-cluster "
}

# kill_one MPI FOLDER: starts a job, kills a rank of it, and looks. One kill in three comes while MPI starts, in the
# first tenth of a second.
kill_one() {
    local budget=$((1000 + RANDOM)) delay=$((RANDOM % 3 ? RANDOM % 2000 : RANDOM % 100)) start victim job code rank
    launch "$1" 4 "$2/rung" bench --cluster --sizes 900 --block 64 --dtype f64 --budget $budget > "$work/said" 2>&1 &
    job=$!
    for _ in $(seq 200); do
        [ "$(ranks_of "$2" $budget | wc -l)" -eq 4 ] && break
        sleep 0.05
    done
    sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
    victim=$(ranks_of "$2" $budget | shuf -n 1)
    [ -n "$victim" ] || { cat "$work/said"; fail "$1: the job does not run"; }
    rank=$(tr '\0' '\n' < "/proc/$victim/environ" | sed -nE 's/^(OMPI_COMM_WORLD_RANK|PMI_RANK)=//p' | head -n 1)
    start=$(date +%s%N)
    kill -9 "$victim"
    wait $job
    code=$?
    local took=$((($(date +%s%N) - start) / 1000000))
    [ $code -ne 0 ] || { cat "$work/said"; fail "$1: a rank died, and the job ended well"; }
    [ $took -lt 30000 ] || fail "$1: the job ended $took ms after the rank"
    grep -q "^rung: rank $rank of 4 (pid $victim on .*) died: killed by signal 9" "$work/said" ||
        { cat "$work/said"; fail "$1: nobody says that rank $rank died"; }
    for _ in $(seq 100); do
        [ -n "$(processes "$2" $budget)" ] || break
        sleep 0.1
    done
    [ -z "$(processes "$2" $budget)" ] || fail "$1: processes are left"
    echo "$1: rank $rank killed after $delay ms: named, ended in $took ms with code $code"
}

for mpi in $mpis; do
    folder=$RUNG_BUILD
    if [ "$mpi" = mpich ]; then
        build_cluster || { echo "no MPICH besides"; continue; }
        folder=$work
    fi
    for _ in $(seq "$count"); do
        kill_one "$mpi" "$folder"
    done
done
