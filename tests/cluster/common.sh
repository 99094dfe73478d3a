# SPDX-License-Identifier: Apache-2.0
# common.sh - sourced by the tests here: launchers, and the same programs built for MPICH.
#
# The build has librung-cluster-mpi for one MPI, $RUNG_MPIEXEC's. Where MPICH is there besides, its sources are compiled again.
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_base_warn_component_unused=0
export RUNG_THREADS=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
programs=$RUNG_BUILD/tests/cluster
sources=$RUNG_SOURCE/tests/cluster

fail() {
    echo "$*"
    exit 1
}

[ -z "${RUNG_SANITIZE:-}" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # an MPI keeps what it has
case ${RUNG_SANITIZE:-} in
*thread*) exit 77 ;; # MPI's own threads and shared memory are no sanitizer's business
esac

# launch MPI N PROGRAM ...: as many ranks as asked for, whatever the processors, for $limit seconds at most.
launch() {
    local mpi=$1 ranks=$2
    shift 2
    if [ "$mpi" = mpich ] && [ "${has_mpich:-no}" = yes ]; then
        timeout "${limit:-600}" mpirun.mpich -n "$ranks" "$@"
    elif "$RUNG_MPIEXEC" --version 2>&1 | grep -q 'Open'; then
        timeout "${limit:-600}" "$RUNG_MPIEXEC" -n "$ranks" --oversubscribe "$@"
    else
        timeout "${limit:-600}" "$RUNG_MPIEXEC" -n "$ranks" "$@"
    fi
}

# build_mpich PROGRAM SOURCE ...: these sources, or archives, and librung-cluster-mpi's for MPICH, as $work/PROGRAM; false if there is no
# MPICH besides.
build_mpich() {
    local program=$1
    shift
    { command -v mpicc.mpich && command -v mpirun.mpich; } > /dev/null || return 1
    [ -z "${RUNG_SANITIZE:-}" ] || return 1
    has_mpich=yes
    mpicc.mpich -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -I"$RUNG_SOURCE/include" -I"$RUNG_SOURCE/src" -I"$RUNG_SOURCE/lab" \
        "$RUNG_SOURCE"/src/cluster/mpi/*.c "$RUNG_SOURCE"/src/cluster/{operand_partition,grid_check}.c "$@" "$RUNG_BUILD/librung_base.a" -L"$RUNG_BUILD" -lrung-cluster -lrung-outofcore -lrung \
        -lm -lpthread -ldl -Wl,-rpath,"$RUNG_BUILD" -o "$work/$program" || fail "$program does not compile for MPICH"
}
