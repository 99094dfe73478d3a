#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# transcripts.sh - thousands of calls, right and wrong, come out as they do with Netlib's
# reference: with the drop-in before it, alone, switched off, and with rung failing. And rung
# serves them where it should, and only there.
set -u
. "$(dirname "$0")/preload.sh"
calls=4000
plain="32 sgemm_ dgemm_ cblas_sgemm cblas_dgemm xerbla_ cblas_xerbla"

# run NAME LIBRARIES FUNCTIONS [SETTING ...]: a transcript, and how many calls rung served. In row-major
# order release 3.11 of the reference gives TransB's number as 2, later ones as 3.
run() {
    local name=$1 libraries=$2 functions=$3
    shift 3
    preload "$libraries" env "$@" timeout 100 "$RUNG_BUILD/tests/blas/transcript" $functions $calls \
        > "$work/raw" 2> "$work/$name.err" || { cat "$work/$name.err"; wrong "$name failed"; }
    sed 's/> 2 "Illegal TransB/> 3 "Illegal TransB/' "$work/raw" > "$work/$name"
    served=$(awk '/^rung served/ {print $3}' "$work/$name.err")
}
# same NAME EXPECTED: the transcript is that one, and rung served all it could, or nothing.
same() {
    diff "$work/$2" "$work/$1" > "$work/difference" || { head -n 8 "$work/difference"; wrong "$1 is not like $2"; }
    [ "$served" -eq "$3" ] || wrong "$1: rung served $served calls, not $3"
    echo "$1: as $2, rung served $served"
}

run reference "$reference" "$plain"
[ "$(wc -l < "$work/reference")" -eq $calls ] || wrong "the reference's transcript is short"
# Each way to be wrong is there, in both types: eight numbers of Fortran's, six of them also by C in either order,
# and three of CBLAS's, of which two in either order.
ways=$(grep -oE '(fortran|cblas) <[^>]*> [0-9]+|from_c=. rows=.' "$work/reference" | paste - - | sort -u | wc -l)
[ "$ways" -eq 50 ] || wrong "$ways ways to be wrong were tried"
multiplies=$(grep ' done ' "$work/reference" | grep -vE ' (0x[0-9]+|[0-9]+x0)x' |
             grep -vcE 'alpha 0 beta 1|x0 ld .* beta 1:')

run before "$ours $reference" "$plain" && same before reference "$multiplies"
run alone "$ours" "$plain" && same alone reference "$multiplies"
run off "$ours $reference" "$plain" RUNG_BLAS=off && same off reference 0
run off_alone "$ours" "$plain" RUNG_BLAS=off && same off_alone reference 0
run on "$ours $reference" "$plain" RUNG_BLAS=on && same on reference "$multiplies"

# 64-bit integers, and the names in NumPy's and SciPy's wheels.
family() {
    run "$1" "$ours" "$2"
    same "$1" reference "$multiplies"
}
family wide "64 sgemm_64_ dgemm_64_ cblas_sgemm64_ cblas_dgemm64_ xerbla_64_ cblas_xerbla64_"
family mkl "64 sgemm_64 dgemm_64 cblas_sgemm_64 cblas_dgemm_64 xerbla_64_ cblas_xerbla_64"
family scipy "32 scipy_sgemm_ scipy_dgemm_ scipy_cblas_sgemm scipy_cblas_dgemm scipy_xerbla_ scipy_cblas_xerbla"
family scipy_wide "64 scipy_sgemm_64_ scipy_dgemm_64_ scipy_cblas_sgemm64_ scipy_cblas_dgemm64_ scipy_xerbla_64_
                   scipy_cblas_xerbla64_"

# A BLAS cannot fail. What rung does not serve goes on, and RUNG_VERBOSE says to whom.
told() { grep -c "was forwarded to $2" "$work/$1.err"; }
run fails "$ours $reference" "$plain" TRANSCRIPT_FAILS=1 RUNG_VERBOSE=1 && same fails reference 0
[ "$(told fails ".*/libblas.so.3: ")" -ge "$multiplies" ] || wrong "not every call was told to have gone on"
run fails_alone "$ours" "$plain" TRANSCRIPT_FAILS=1 RUNG_VERBOSE=1 && same fails_alone reference 0
[ "$(told fails_alone "a plain loop: ")" -eq "$multiplies" ] || wrong "not every call was told to be a loop's"
run fails_silently "$ours" "$plain" TRANSCRIPT_FAILS=1 && same fails_silently reference 0
[ "$(wc -l < "$work/fails_silently.err")" -eq 1 ] || wrong "something was printed unasked"
# A device that fails half way has written to C.
run fails_late "$ours $reference" "$plain" TRANSCRIPT_FAILS=late RUNG_DEVICE=opencl && same fails_late reference 0
run fails_late_alone "$ours" "$plain" TRANSCRIPT_FAILS=late RUNG_DEVICE=opencl && same fails_late_alone reference 0

# Two copies of the drop-in in one process, as of two packages. Neither is the other's next library: a call that
# went from one to the other would never end.
cp "$ours" "$work/librung-blas-copy.so"
copies="$ours $work/librung-blas-copy.so"
run copies "$copies $reference" "$plain" && same copies reference "$multiplies"
run copies_off "$copies $reference" "$plain" RUNG_BLAS=off && same copies_off reference 0
run copies_off_alone "$copies" "$plain" RUNG_BLAS=off && same copies_off_alone reference 0
run copies_fail "$copies $reference" "$plain" TRANSCRIPT_FAILS=1 RUNG_VERBOSE=1 && same copies_fail reference 0
[ "$(told copies_fail ".*/libblas.so.3: ")" -ge "$multiplies" ] || wrong "a copy was taken for the next BLAS"
run copies_fail_alone "$copies" "$plain" TRANSCRIPT_FAILS=1 RUNG_VERBOSE=1 && same copies_fail_alone reference 0
[ "$(told copies_fail_alone "a plain loop: ")" -eq "$multiplies" ] || wrong "a copy was taken for a BLAS"

# Memory that is not aligned to its elements, which rung refuses.
run shifted "$ours" "$plain" TRANSCRIPT_SHIFT=1
served=0 && same shifted reference 0
# What overlaps is undefined, and comes out as the next library does it.
run overlap_reference "$reference" "$plain" TRANSCRIPT_OVERLAP=1
run overlap "$ours $reference" "$plain" TRANSCRIPT_OVERLAP=1
[ "$served" -lt "$multiplies" ] || wrong "rung served what overlaps"
same overlap overlap_reference "$served"

# Nobody there to be told of a wrong argument: a line, and the program goes on.
preload "$ours" "$RUNG_BUILD/tests/blas/no_error_handler" > "$work/out" 2> "$work/err" || wrong "no_error_handler: $?"
[ "$(cat "$work/out")" = "still here, C is 7 7 7 7" ] || wrong "no_error_handler: $(cat "$work/out")"
numbers=$(sed -n 's/^rung: on entry to \([sc]\).*gemm.* parameter number \(.*\) had an illegal value$/\1\2/p' \
          "$work/err" | tr '\n' ' ')
[ "$numbers" = "s2 s3 c1 c9 c9 c5 c14 " ] || { cat "$work/err"; wrong "no_error_handler: $numbers"; }
