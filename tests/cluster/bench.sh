#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rung bench --cluster: rows that are verified, bytes that are the bound on a cube of 8 ranks, sentences for what is not
# understood, one rank without a launcher, and ranks that do not have the same.
source "$(dirname "$0")/common.sh"
[ -x "$RUNG_BUILD/rung-cluster" ] || exit 77
launch own 8 "$RUNG" bench --cluster --sizes 192 --dtype f64 --budget 0.01 --block 32 --json > "$work/eight.json" ||
    fail "8 ranks fail"
jq -e '.schema == "rung-cluster/1" and .ranks == 8 and (.results | length) >= 2 and all(.results[]; .verified) and
    all(.results[] | select(.call == "rung_cluster_gemm"); .grid == "2x2x2" and (.received_bytes - .bound_bytes | fabs) < 1 and
        .received_bytes == 192 * 192 * 8 * 3 / 8)' "$work/eight.json" > /dev/null ||
    { cat "$work/eight.json"; fail "8 ranks do not receive what is the bound"; }
jq -e '[.results[] | select(.layout == "cyclic" and .call == "rung_cluster_gemm")] | length > 0 and
    all(.[]; .redistributed_bytes > 0)' "$work/eight.json" > /dev/null || fail "nothing was redistributed"

launch own 3 "$RUNG" bench --cluster --m 40 --n 70 --k 30 --dtype i8,f16:f32 --budget 0.01 --layout grid \
    --output "$work/three.json" > "$work/said" || fail "3 ranks fail"
jq -e '[.results[] | .dtype] == ["f16:f32", "i8"] and all(.results[]; .layout == "grid" and .verified)' "$work/three.json" \
    > /dev/null || { cat "$work/three.json"; fail "3 ranks are other"; }
grep -q '^i8 40 x 70 x 30 on 3 ranks' "$work/said" || fail "there is no table beside the file"

"$RUNG" bench --cluster --sizes 64 --dtype f32 --budget 0.01 > "$work/said" || fail "one rank without a launcher fails"
grep -q 'on 1 ranks: a grid of 1 x 1 x 1' "$work/said" || { cat "$work/said"; fail "one rank is other"; }

# Started by one that ignores what becomes of its children.
env --ignore-signal=CHLD "$RUNG" bench --cluster --sizes 64 --dtype f32 --budget 0.01 > "$work/said" 2>&1 ||
    { cat "$work/said"; fail "where SIGCHLD is ignored the outcome is lost"; }

# One rank of two has no ScaLAPACK: neither calls it, and neither waits for the other.
cat > "$work/some" << END
case \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK} in 1) export RUNG_SCALAPACK=$work/none.so ;; esac
exec "$RUNG" bench --cluster --sizes 96 --dtype f64 --budget 0.01 --block 32 --json
END
limit=60 launch own 2 bash "$work/some" > "$work/some.json" || fail "a rank has no ScaLAPACK, and the job fails"
jq -e '(.results | length) >= 2 and all(.results[]; .verified and .call == "rung_cluster_gemm")' "$work/some.json" > /dev/null ||
    { cat "$work/some.json"; fail "a rank has no ScaLAPACK, and rows are other"; }

# broken NUMBER: that message of rank 2 cannot be sent, where results are verified or later. All ranks hear of it, none is waited
# for, and the job ends.
broken() {
    RUNG_SCALAPACK=$work/none.so RUNG_TEST_FAULT=2:$1 LD_PRELOAD=$programs/libcluster_mpi_faults.so limit=40 launch own 4 \
        "$RUNG" bench --cluster --sizes 96 --dtype f64 --budget 100 --block 32 > "$work/said" 2>&1
    local code=$?
    { [ $code -ne 0 ] && [ $code -ne 124 ]; } || { cat "$work/said"; fail "message $1 of rank 2 fails: code $code"; }
    grep -q 'rung: rank [0-3]: .*MPI failed' "$work/said" || { cat "$work/said"; fail "message $1 of rank 2 fails: not a word"; }
}
if [ -z "${RUNG_SANITIZE:-}" ]; then # which is to be loaded before everything else
    broken 4
    broken 200
fi

# refused WORDS OPTIONS
refused() {
    local words=$1
    shift
    "$RUNG" bench "$@" > "$work/said" 2>&1
    [ $? -eq 2 ] && grep -q -- "$words" "$work/said" || { cat "$work/said"; fail "$*: not refused with '$words'"; }
}
refused 'grid or cyclic' --cluster --layout rr
refused '--block must be an integer' --cluster --block 0
refused 'checked exactly' --cluster --dtype f16
refused 'no kernel can be named' 04 --cluster
refused 'require --cluster' --block 64
