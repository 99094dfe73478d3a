#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Typical mistakes of a first kernel get the word for it, with the line it is in; and kernels that are right and
# fast for their kind are accused of nothing.
set -u
cd "$RUNG_SOURCE" || exit 1
. tests/support/explain_tools.sh
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
    command=$(sed -n 's/^  reproduce: rung //p' "$out")
    [ "$(grep -c '^wrong: ' "$out")" -eq 1 ] && awk '/^wrong: / { seen = 1 } /^kernel / { exit !seen }' "$out" &&
        ! eval "rung $command" > "$work/again" && grep -q '^wrong: ' "$work/again" && return
    echo "$1: not one problem above the table, or its command passes: $command"
    cat "$out"
    bad=1
}
# seen NAME LINE WORDS: by explain, there, in a kernel that verify takes for right.
seen() {
    says 0 "The emulator found no data race" rung verify "$mistakes/$1.cu" --suite edges --quiet
    says 0 "^  $1\.cu:$2: $3" rung explain "$mistakes/$1.cu" --quiet --m 1024
}

# A barrier stands between the two lines: the race is between one iteration and the next.
store=$(line_of missing_barrier 'a_tile[tile_row][tile_col] = load') read=$(line_of missing_barrier 'sum +=')
found missing_barrier "$store" "data race on shared memory: line $read reads what line $store writes in the next iteration; .* end of the loop body"
found early_reader "[0-9]+" "data race on shared memory: line [0-9]+ reads what line [0-9]+ writes; put __syncthreads\(\) between them"
seen uncoalesced "$(line_of uncoalesced 'sum +=')" "uncoalesced load of a: .* adjacent elements"
seen column_read "$(line_of column_read 'sum +=')" "bank conflict: a load of b_tile takes 32.0 wavefronts .* pad"
found edge_read "$(line_of edge_read 'sum +=')" "out of bounds: reads outside a matrix"
found edge_store "[0-9]+" "out of bounds: reads outside a matrix"
found edge_tile "" "wrong only if k is not a multiple of BK"
found wrong_beta "" "wrong only if beta is not 0"
found nan_in_c "" "wrong only if beta is 0"
found unfilled_tile "[0-9]+" "uninitialised: .* zeros past the edge"
# The finding comes first, with the smallest problem that fails and a command that was seen to fail.
found dense_only "" "correct for dense matrices, wrong only if A is a strided or transposed view: index A by its strides"
reproduces dense_only
found half_fixed "" "wrong only if C has more than one row: "
reproduces half_fixed
grep -qE '^wrong: m = 2, n = 1, k = 1, dense: element \(1, 0\) is .*, expected ' "$out" ||
    { echo "half_fixed: not the smallest problem"; cat "$out"; bad=1; }
[ "$(rung verify "$mistakes/half_fixed.cu" --suite edges --quiet --all-cases | grep -c '^wrong: ')" -gt 5 ] ||
    { echo "--all-cases does not list all"; bad=1; }
found divergent_barrier "$(line_of divergent_barrier '__syncthreads')" "divergent barrier: "
found shared_overflow "$(line_of shared_overflow '__shared__')" "too much shared memory: a block declares 65536 bytes"
found too_many_threads "$(line_of too_many_threads 'KERNEL(')" "too many threads: a block has 2048"

# Kernels that no GPU can run are not explained, nor are wrong kernels; the messages say so.
says 2 "too much shared memory: a block declares 65536 bytes; the maximum in CUDA is 49152" rung explain "$mistakes/shared_overflow.cu" --quiet
says 2 "needs 2048 threads per block; the maximum of that GPU is 1024" rung explain "$mistakes/too_many_threads.cu" --quiet
says 1 "computes a wrong result: .*rung verify $mistakes/missing_barrier.cu" rung explain "$mistakes/missing_barrier.cu" --quiet

# A file that PoCL alone would run into memory that is not its own is not run here.
says 1 "Not run on opencl:0" rung verify "$mistakes/edge_read.cu" --suite edges --quiet

# The word is the same to programs.
rung verify "$mistakes/wrong_beta.cu" --suite edges --quiet --json > "$out"
grep -q '"kind":"wrong"' <(tr -d ' \n' < "$out") || { echo "no finding in the JSON"; cat "$out"; bad=1; }

# Oclgrind is not needed where NVRTC is installed.
RUNG_OCLGRIND=/nowhere says 1 "data race on shared memory" rung verify "$mistakes/missing_barrier.cu" --suite tile --quiet

# / and % by the same number.
sed 's/uint blocks_across = (uint)/int blocks_across = (int)/; s/uint block_row = blockIdx.x/int block_row = (int)blockIdx.x/
     s/uint block_col = blockIdx.x - block_row \* blocks_across/int block_col = (int)blockIdx.x % blocks_across/' \
    learn/solutions/04_shared.cu > "$work/divided.cu"
says 0 "The emulator found no data race, no out-of-bounds" rung verify "$work/divided.cu" --suite tile --quiet
# What does not compile has not been looked at.
sed 's/sum_t sum = 0/sum_t sum = nothing/' learn/solutions/04_shared.cu > "$work/syntax.cu"
says 1 "Not checked for data races: the kernel did not compile" rung verify "$work/syntax.cu" --suite tile --quiet

for solution in learn/solutions/*.cu; do
    says 0 "The emulator found no data race, no out-of-bounds access and no uninitialised read\." \
        rung verify "$solution" --suite edges --quiet
    case $solution in
    */01_naive.cu) says 0 "uncoalesced load of a" rung explain "$solution" --quiet ;;
    *)
        # A cliff is a hint: how many registers there are is the compiler's business.
        says 0 "^Found: no uncoalesced access, no bank conflict|: occupancy cliff: " rung explain "$solution" --quiet
        ! grep -qE ": (uncoalesced|bank conflict|half-empty|spill)" "$out" || { echo "$solution is blamed:"; cat "$out"; bad=1; } ;;
    esac
done
exit $bad
