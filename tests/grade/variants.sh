#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# variants.sh - variants of tasks: their references, what students get, and a task of a teacher's own with a reference.cu, a
# skeleton with constants and a block size that the variant demands.
set -u
RUNG=${RUNG:-$RUNG_BUILD/rung}
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python LC_ALL=C.UTF-8
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
fail() { echo "$*"; bad=1; }
run() {
    local code=$1 result
    shift
    "$RUNG" "$@" > out 2> errors
    result=$?
    cat errors >> out
    [ $result -eq "$code" ] || { fail "rung $*: exit code $result instead of $code"; cat out; }
}
prints() { tr -s ' \n' ' ' < out | grep -Eq -- "$1" || { fail "the output lacks: $1"; cat out; }; }

mkdir solutions
python3 -B "$RUNG_SOURCE/tests/grade/variants/check_variants.py" "$RUNG" "$RUNG_SOURCE/tasks" solutions
code=$?
[ $code -ne 77 ] || exit 77
[ $code -eq 0 ] || bad=1

# ---- A task of a teacher ----
mkdir -p own/sums
cat > own/sums/task.toml <<'TASK'
title = "Sums of neighbours"
kernel = "sums"
reference = "reference.cu"
sizes = ["n"]
[[argument]]
name = "x"
type = "i32"
role = "in"
count = "n + WIDTH"
[[argument]]
name = "y"
type = "i32"
role = "out"
count = "n"
[[argument]]
name = "n"
type = "i32"
role = "size"
[[variant]]
name = "WIDTH"
values = [2, 3, 4, 5]
text = "y[i] is the sum of {} elements of x, from x[i] on."
[[variant]]
name = "BLOCK"
values = [64, 128, 256]
text = "Blocks have {} threads."
[[shape]]
n = 300
measured = true
[[part]]
name = "right"
points = 7
shapes = "public"
[[part]]
name = "size of the blocks"
points = 3
metric = "block_threads"
ideal = "BLOCK"
at_least = 1
at_most = 1
TASK
cat > own/sums/reference.cu <<'FILE'
#define WIDTH 2
__global__ void reference(const int *x, int *y, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < WIDTH; j++)
            y[i] += x[i + j];
    }
}
FILE
cat > own/sums/skeleton.cu <<'FILE'
#define WIDTH 2 /* elements */
#define BLOCK 64
// rung: grid=(n+BLOCK-1)/BLOCK block=BLOCK
__global__ void sums(const int *x, int *y, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x, sum = 0;
    for (int j = 0; j < WIDTH; j++) /* a skeleton with the solution, for this test */
        sum += i < n ? x[i + j] : 0;
    if (i < n)
        y[i] = sum;
}
FILE
run 0 tasks own
run 0 grade own/sums own/sums/skeleton.cu
mkdir class
for id in s{1..8}; do
    run 0 tasks own/sums --variant $id --source
    cp out class/$id.cu
    run 0 tasks own/sums --variant $id --source
    cmp -s out class/$id.cu || fail "the variant of $id is not always the same"
done
[ "$(grep -h '^#define' class/*.cu | sort -u | wc -l)" -ge 5 ] || fail "the variants hardly differ"
run 0 tasks own/sums --variant s1
prints 'Variant of s1: WIDTH = [2-5]: y\[i\] is the sum of [2-5] elements of x.* BLOCK = (64|128|256): Blocks have'
run 0 grade own/sums --class class --variants --json
[ "$(jq '[.students[].variant.values.WIDTH] | unique | length > 1' out)" = true ] || fail "the class has no variants"
run 1 grade own/sums --class class
# The block size alone loses its part alone.
width=$(sed -n 's/^#define WIDTH \([0-9]*\).*/\1/p' class/s1.cu)
sed 's/^#define BLOCK .*/#define BLOCK 32/' class/s1.cu > mine.cu
run 1 grade own/sums mine.cu --variant s1
prints "sums: 7 of 10 points.*variant of s1: WIDTH = $width, BLOCK = .*0 of 3 size of the blocks 32 threads per block"
sed "s/^#define WIDTH .*/#define WIDTH $((width % 5 + 1))/" class/s1.cu > mine.cu
run 1 grade own/sums mine.cu --variant s1
prints '0 of 7 right n = 300: [0-9]+ of 300 elements of y are wrong'
sed -i 's/^sizes = .*/&\nvariant_seed = 8/' own/sums/task.toml
different=0
for id in s{1..8}; do
    run 0 tasks own/sums --variant $id --source
    cmp -s out class/$id.cu || different=$((different + 1))
done
[ $different -ge 3 ] || fail "variant_seed has no effect"

# ---- Wrong uses ----
run 2 grade softmax mine.cu --variant ann
prints 'the task softmax has no variants'
run 2 grade vector_add mine.cu --variants
prints 'variants needs --class'
run 2 grade vector_add mine.cu --variant ''
prints 'use 1 to 127'
run 2 tasks --variant ann
prints 'variant needs a task'
exit $bad
