#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verify_formulas.sh - rung verify says in which way a result is wrong, and notes what is right but unusual.
set -u
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guarded_kernel.sh"

# wrong NAME SED-EXPRESSION TEXT - the result is wrong, in the line that stores it, and the output says how
wrong() {
    change "$1.cu" "$2"
    run 1 verify "$work/$1.cu"
    says "$1.cu:17: wrong-result"
    says "$3"
}
wrong alpha_ignored '17s/alpha \* sum/sum/' 'C = alpha * A * B + beta * C, but alpha is ignored'
wrong alpha_twice '17s/alpha \* sum/alpha * alpha * sum/' 'multiplied by alpha twice'
wrong beta_ignored '17s/ + beta.*;/;/' 'the old C is not added'
wrong beta_as_one '17s/beta \* //' 'the old C is added without a factor'
wrong alpha_and_beta '17s/alpha \* sum + \(.*\);/alpha * (sum + \1);/' 'alpha multiplies beta * C, too'
wrong last_k '9s/ka < K/ka < K - 1/' 'the products with the last k are missing'
wrong first_k '9s/ka < K/ka < K \&\& ka > 0/' 'the products with k = 0 are missing'
wrong one_element '16s/if (/if (!(i == 9 \&\& j == 4) \&\& /' '1 of 32768 elements of C is never written: C[9, 4]'
wrong scaled '17s/alpha \* sum/1.00002f * alpha * sum/' 'every element has a small error'
run 1 verify "$work/last_k.cu" --sarif "$work/sarif"
grep -q '"ruleId": "wrong-result"' "$work/sarif" || fail "SARIF has no wrong result"
run 1 explain "$work/alpha_ignored.cu"
says "alpha is ignored"

# Right only for equal sizes: a wrong stride, and a grid with exchanged dimensions.
change stride_a.cu '9s/i \* K/i * N/'
run 1 verify "$work/stride_a.cu"
says "right only when N = K"
says "stride_a.cu:9: wrong-result"
change stride_b.cu '10s/kb \* N/kb * K/'
run 1 verify "$work/stride_b.cu"
says "right only when N = K"
says "stride_b.cu:10: wrong-result"
change grid.cu '21s/N/X/; 21s/M/N/; 21s/X/M/'
run 1 verify "$work/grid.cu"
says "right only when M = N"
says "still has its old value"
lacks "at most"

# Lower precision than that of the matrices: the output says so, or the result is wrong.
change half_sum.cu '1s/^/#include <cuda_fp16.h>\n/; 6s/float sum/__half sum/; 13s/sum +=\(.*\);/sum = sum + __float2half(\1);/
    17s/sum/__half2float(sum)/'
run 0 verify "$work/half_sum.cu"
says "12 of 12 right; the precision is that of f16, not of float"
change bf16_inputs.cu '1s/^/#include <cuda_bf16.h>\n/; 13s/a\[threadIdx.y\]\[k\]/__bfloat162float(__float2bfloat16(a[threadIdx.y][k]))/'
run 0 verify "$work/bf16_inputs.cu"
says "the precision is that of bf16, not of float"
change rounded.cu '13s/a\[threadIdx.y\]\[k\]/rintf(512 * a[threadIdx.y][k]) * (1 \/ 512.f)/'
run 1 verify "$work/rounded.cu"
says "wrong for fractions, but right for small integers"

# Unusual, but right.
change exchanged.cu '9s/A\[/B[/; 10s/B\[/A[/'
run 0 verify "$work/exchanged.cu"
says "takes M = N, N = M, K"
says "A and B are exchanged"
change columns.cu '17s/i \* N + j/j * M + i/g'
run 0 verify "$work/columns.cu"
says "C is column-major, but A and B are row-major"

# Launches that are invalid, and elements that a launch leaves out.
run 2 verify "$work/matmul.cu" --block 2000 --grid 1
says "the launch is invalid: the block has 2000 threads in x; 1 to 1024 are valid"
lacks "no matrix product"
run 2 verify "$work/matmul.cu" --block 16,16 --grid 'N/(M-128),1'
says "divides by zero"
run 2 verify "$work/matmul.cu" --block 16,16 --grid 0
says 'is 0 in dimension x'
run 1 verify "$work/matmul.cu" --block 16,16 --grid 1
says "elements of C are never written"

# Time: all of it together is limited.
started=$SECONDS
run 1 verify "$work/matmul.cu" --block 16,16 --grid 2147483647 --time-limit 8
says "the kernel did not end within 8 seconds with 2147483647 x 1 x 1 blocks of 16 x 16 x 1 threads"
{
    echo '#define X0 1 + 1'
    for n in $(seq 1 39); do echo "#define X$n X$((n - 1)) + X$((n - 1))"; done
    sed '22s/EDGE, EDGE/X39, 1/' "$work/matmul.cu"
} > "$work/macros.cu"
run 2 verify "$work/macros.cu" --time-limit 5
says "the compiler did not finish"
[ $((SECONDS - started)) -lt 60 ] || fail "the limits of time did not hold"
exit $bad
