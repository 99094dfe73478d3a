#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Typical mistakes of a first kernel get the word for it, with the line it is in; and kernels that are right and
# fast for their kind are accused of nothing.
set -u
cd "$RUNG_SOURCE" || exit 1
. tests/learn/course.sh
bad=0
mistakes=tests/learn/mistakes

# says CODE WORDS COMMAND...: exits so, and prints a line with these words.
says() {
    local code=$1 words=$2 got
    shift 2
    "$@" > "$out" 2>&1
    got=$?
    [ $got -eq "$code" ] && grep -qE -- "$words" "$out" && return
    echo "$* exits with $got, expected $code and \"$words\":"
    cat "$out"
    bad=1
}

# The number of the line of a file that has this text.
line_of() { grep -n -F -- "$2" "$mistakes/$1.cu" | head -n 1 | cut -d: -f1; }

# found NAME LINE WORDS: by verify, there; LINE empty: no line.
found() { says 1 "^  $mistakes/$1\.cu${2:+:$2}: $3" rung verify "$mistakes/$1.cu" --suite edges --quiet; }
# reproduces NAME: one problem is printed, above the table, and its command fails when it is run
reproduces() {
    local command
    command=$(sed -n 's/^  again: rung //p' "$out")
    [ "$(grep -c '^wrong: ' "$out")" -eq 1 ] && awk '/^wrong: / { seen = 1 } /^kernel / { exit !seen }' "$out" &&
        ! eval "rung $command" > "$work/again" && grep -q '^wrong: ' "$work/again" && return
    echo "$1: not one problem above the table, or its command passes: $command"
    cat "$out"
    bad=1
}
# seen NAME LINE WORDS: by explain, there, in a kernel that verify takes for right.
seen() {
    says 0 "Oclgrind found no race" rung verify "$mistakes/$1.cu" --suite edges --quiet
    says 0 "^  $1\.cu:$2: $3" rung explain "$mistakes/$1.cu" --quiet --m 1024
}

# A barrier stands between the two lines: the race is between one iteration and the next.
store=$(line_of missing_barrier 'a_tile[tile_row][tile_col] = load') read=$(line_of missing_barrier 'sum +=')
found missing_barrier "$store" "data race: .* in line $read in one iteration and in line $store in the next, .* end of the loop body"
found early_reader "[0-9]+" "data race: .* put __syncthreads\(\)"
seen uncoalesced "$(line_of uncoalesced 'sum +=')" "uncoalesced load of a: .* neighbouring elements"
seen column_read "$(line_of column_read 'sum +=')" "bank conflict: a load of b_tile takes 32.0 wavefronts .* pad"
found edge_read "$(line_of edge_read 'sum +=')" "out of bounds: reads outside a matrix"
found edge_store "[0-9]+" "out of bounds: reads outside a matrix"
found edge_tile "" "wrong only where k is no multiple of BK"
found wrong_beta "" "wrong only where beta is not 0"
found nan_in_c "" "wrong only where beta is 0"
found unfilled_tile "" "uninitialised: .* zeros past the edge"
# The finding comes first, with the smallest problem that fails and a command that was seen to fail.
found dense_only "" "right for dense matrices, wrong only where A is a strided or transposed view: use A's strides"
reproduces dense_only
found half_fixed "" "wrong only where C has more than one row: "
reproduces half_fixed
grep -qE '^wrong: m = 2, n = 1, k = 1, dense: element \(1, 0\) is .*, expected ' "$out" ||
    { echo "half_fixed: not the smallest problem"; cat "$out"; bad=1; }
[ "$(rung verify "$mistakes/half_fixed.cu" --suite edges --quiet --all-cases | grep -c '^wrong: ')" -gt 5 ] ||
    { echo "--all-cases does not list all"; bad=1; }
found divergent_barrier "$(line_of divergent_barrier '__syncthreads')" "divergent barrier: "
found shared_overflow "$(line_of shared_overflow '__shared__')" "too much shared memory: a block declares 65536 bytes"
found too_many_threads "$(line_of too_many_threads 'KERNEL(')" "too many threads: a block has 2048"

# What no GPU takes is not explained, and says so in the same words; nor is what is wrong.
says 2 "too much shared memory: a block declares 65536 bytes, and CUDA gives it 49152" rung explain "$mistakes/shared_overflow.cu" --quiet
says 2 "wants 2048 threads a block; that GPU has at most 1024" rung explain "$mistakes/too_many_threads.cu" --quiet
says 1 "does not multiply right: .* rung verify $mistakes/missing_barrier.cu says more" rung explain "$mistakes/missing_barrier.cu" --quiet

# A file that PoCL alone would run into memory that is not its own is not run here.
says 1 "It was not run here" rung verify "$mistakes/edge_read.cu" --suite edges --quiet

# The word is the same to programs.
rung verify "$mistakes/wrong_beta.cu" --suite edges --quiet --json > "$out"
grep -q '"kind":"wrong"' <(tr -d ' \n' < "$out") || { echo "no finding in the JSON"; cat "$out"; bad=1; }

# Without Oclgrind it says what was not looked for, and how to have it.
RUNG_OCLGRIND=/nowhere says 0 "Races were not looked for: Oclgrind was not found; install it" \
    rung verify "$mistakes/missing_barrier.cu" --suite tile --quiet

# / and % by the same number make LLVM write what Oclgrind's check for unwritten reads does not know: no accusation.
sed 's/uint blocks_across = (uint)/int blocks_across = (int)/; s/uint block_row = blockIdx.x/int block_row = (int)blockIdx.x/
     s/uint block_col = blockIdx.x - block_row \* blocks_across/int block_col = (int)blockIdx.x % blocks_across/' \
    learn/solutions/04_shared.cu > "$work/divided.cu"
says 0 "no race .*; reads of what was never written it could not look for\." rung verify "$work/divided.cu" --suite tile --quiet
# What does not compile has not been looked at.
sed 's/sum_t sum = 0/sum_t sum = nothing/' learn/solutions/04_shared.cu > "$work/syntax.cu"
says 1 "Races were not looked for: it did not run" rung verify "$work/syntax.cu" --suite tile --quiet

for solution in learn/solutions/*.cu; do
    says 0 "Oclgrind found no race and no access outside the matrices, and no read of what was never written\." \
        rung verify "$solution" --suite edges --quiet
    case $solution in
    */01_naive.cu) says 0 "uncoalesced load of a" rung explain "$solution" --quiet ;;
    *)
        # A cliff is a hint: how many registers there are is the compiler's business.
        says 0 "^Found: no scattered access, no bank conflict|: occupancy cliff: " rung explain "$solution" --quiet
        ! grep -qE ": (uncoalesced|bank conflict|half-empty|spill)" "$out" || { echo "$solution is blamed:"; cat "$out"; bad=1; } ;;
    esac
done
exit $bad
