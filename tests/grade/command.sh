#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# command.sh - rung grade and rung tasks as commands: exit codes, messages, formats, several launches, limits, and a task of a
# teacher's own with a reference.cu.
set -u
RUNG=${RUNG:-$RUNG_BUILD/rung}
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
tasks=$RUNG_SOURCE/tasks

# run CODE ARGUMENT...: runs rung; its exit code must be CODE. The output is in $work/out.
run() {
    local code=$1 result
    shift
    "$RUNG" "$@" > out 2> errors
    result=$?
    cat errors >> out
    [ $result -eq "$code" ] || { echo "rung $*: exit code $result instead of $code"; cat out; bad=1; }
}
# prints PATTERN: the last output has the text, whatever the line breaks.
prints() { tr -s ' \n' ' ' < out | grep -Eq -- "$1" || { echo "the output lacks: $1"; cat out; bad=1; }; }
# json FILTER VALUE
json() { [ "$(jq -r "$1" out)" = "$2" ] || { echo "$1 is not $2:"; cat out; bad=1; }; }

"$RUNG" grade vector_add "$tasks/vector_add/solution.cu" > first 2>&1
[ $? -ne 77 ] || { cat first; exit 77; }

# ---- Lists ----
run 0 tasks
prints 'vector_add +100 +Vector addition'
run 0 tasks --json
[ "$(jq '.tasks | length' out)" -eq "$(ls -d "$tasks"/*/ | wc -l)" ] || { echo "not all tasks are listed"; bad=1; }
run 0 tasks vector_add
prints 'vector_add\(const float \*a, const float \*b, float \*c, int n\)'
run 0 tasks vector_add --source
cmp -s out "$tasks/vector_add/skeleton.cu" || { echo "--source is not the skeleton"; bad=1; }
run 2 tasks nothing
prints 'there is no task nothing, nor a folder nothing with a file task.toml; rung tasks lists the tasks'
run 2 tasks vector-ad
prints 'there is no task vector-ad \(did you mean vector_add\?\); rung tasks lists the tasks'

# ---- Use ----
run 2 grade vector_add
prints 'name a task and a file'
run 2 grade vector_add missing.cu
prints 'missing.cu: '
run 2 grade "$tasks/vector_add/solution.cu" vector_add
prints 'name the task before the file: rung grade vector_add .*solution.cu'
run 2 grade vector_add "$tasks/vector_add/solution.cu" --seed -1
prints 'seed'
run 0 grade "$tasks/vector_add" "$tasks/vector_add/solution.cu" --json --seed 5
json .points 100
json .seed 5
json '.parts[1].text' 'right for 3 shapes'
# The same seed gives the same result, another seed other shapes.
run 1 grade vector_add "$tasks/vector_add/wrong/round_down.cu" --json --seed 5
cp out five
run 1 grade vector_add "$tasks/vector_add/wrong/round_down.cu" --json --seed 5
cmp -s out five || { echo "two gradings with one seed differ"; diff five out; bad=1; }
run 1 grade vector_add "$tasks/vector_add/wrong/round_down.cu" --json --seed 6
[ "$(jq -r '.parts[1].text' out)" != "$(jq -r '.parts[1].text' five)" ] || { echo "the seed has no effect"; bad=1; }

# submit TEXT: writes a submission for vector_add.
submit() { printf '%s\n' "$1" > mine.cu; }
body='{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }'
head='__global__ void vector_add(const float *a, const float *b, float *c, int n)'

# ---- What a submission may look like ----
submit "// rung: grid=(n+T-1)/T block=T
#define T (64*2)
$head $body"
run 0 grade vector_add mine.cu
submit "constexpr int T = 64; // threads
// rung: grid=(n+T-1)/T block=T
__global__ void other(const float *x, const float *y, float *z, int count, const float *a) {}
__global__ void vector_add(const float *x, const float *y, float *z, int count)
{ int i = blockIdx.x * T + threadIdx.x; if (i < count) z[i] = x[i] + y[i]; }"
run 0 grade vector_add mine.cu
submit "// rung: kernel=first grid=(n+255)/256 block=256 t=f32[n]
// rung: kernel=second template=2 grid=(n+255)/256 block=256 parts=1
__global__ void first(const float *a, float *t, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) t[i] = a[i]; }
template <int K> __global__ void second(const float *t, const float *b, float *c, int parts, int n)
{ int i = blockIdx.x * 256 + threadIdx.x; if (i < n) c[i] = t[i] + b[i] * parts * K / 2; }"
run 0 grade vector_add mine.cu

# ---- What is wrong with a submission is a grade, with a sentence ----
submit "$head $body"
run 1 grade vector_add mine.cu
prints '0 of 100 points.*mine.cu has no line that says how many blocks .* such as // rung: grid=\(n\+255\)/256 block=256'
submit "// rung: grid=n
$head $body"
run 1 grade vector_add mine.cu
prints 'mine.cu:1: the line // rung: lacks the threads per block: block=X\[,Y\[,Z\]\]'
submit "// rung: grid=(n+255)/256 blocks=256
$head $body"
run 1 grade vector_add mine.cu
prints 'sets blocks, but vector_add has no parameter blocks \(did you mean block=\?\)'
submit "// rung: grid=m block=1
$head $body"
run 1 grade vector_add mine.cu
prints 'n = 1024: vector_add: grid=m: "m" is not an integer argument; these are: n 0 of 30'
prints 'not run, because an earlier launch failed +0 of 20' # without the hint of the part
submit "// rung: grid=(n+255)/256 block=256
$head { c[0] = a[0] }"
run 1 grade vector_add mine.cu
prints 'mine.cu did not compile with NVRTC.*mine.cu\(2\): error: expected a ";"'
grep -q '/dev/null' out && { echo "the name of the compiled file is printed"; bad=1; }
submit "// rung: grid=1 block=1
__global__ void vector_add(const float *a, const float *b, double *c, int n) {}"
run 1 grade vector_add mine.cu
prints 'has elements of type f64, but c of the task has f32'
submit "// rung: grid=1 block=1
__global__ void vector_add(const float *a, const float *b, float *c, int n, int extra) {}"
run 1 grade vector_add mine.cu
prints 'the parameter extra of vector_add is not an argument of the task'
submit "// rung: grid=1 block=1
__global__ void one(float *c) {}
__global__ void two(float *c) {}"
run 1 grade vector_add mine.cu
prints 'the file has no kernel vector_add; its kernels are: one, two. Rename one, or name it in the line'
submit "// rung: grid=1 block=1
void vector_add(float *c) {}"
run 1 grade vector_add mine.cu
prints 'the file has no kernel; a kernel begins with __global__ void vector_add\('
submit "// rung: grid=1 block=1
__global__ void vector_add(const float *a, const float *b, float *c, float n) {}"
run 1 grade vector_add mine.cu
prints 'the parameter float n has the type f32, but n of the task has i32'
submit "// rung: grid=(n+255)/256 block=256
__global__ void vector_add(float *a, const float *b, float *c, int n)
{ int i = blockIdx.x * 256 + threadIdx.x; if (i < n) { c[i] = a[i] + b[i]; a[i] = 0; } }"
run 1 grade vector_add mine.cu
prints 'the kernel changed its input a'
submit "// rung: grid=n block=1024
$head $body"
run 1 grade vector_add mine.cu
prints 'the limit is 1048576 threads'
submit "// rung: grid=(n+2047)/2048 block=2048
$head $body"
run 1 grade vector_add mine.cu
prints '0 of 100 points.*n = 1024: vector_add'
submit "// rung: grid=(n+255)/256 block=256
#include <cstdio>
$head { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; if (i == 0) printf(\"hello \\033[1m %d\\n\", n); }"
run 0 grade vector_add mine.cu
prints 'The kernels printed: hello \?\[1m 1024'

# ---- Formats ----
wrong=$tasks/vector_add/wrong/no_bound.cu
run 1 grade vector_add "$wrong" --junit j.xml --gradescope g.json --sarif s.sarif
python3 - <<'CHECK' || bad=1
import json, xml.etree.ElementTree as tree
suite = tree.parse("j.xml").getroot()[0]
assert suite.get("tests") == "4" and suite.get("failures") == "1", suite.attrib
failed = [case.get("name") for case in suite if case.find("failure") is not None]
assert failed == ["no wrong accesses"], failed
scope = json.load(open("g.json"))
assert scope["score"] == sum(test["score"] for test in scope["tests"]) == 80, scope
assert [test["status"] for test in scope["tests"]].count("failed") == 1
assert "out-of-bounds" in scope["output"]
assert json.load(open("s.sarif"))["runs"][0]["results"]
CHECK
run 2 grade vector_add "$wrong" --junit /nowhere/j.xml
prints '/nowhere/j.xml'

# ---- A teacher's task ----
mkdir -p own/double/include
cat > own/double/task.toml <<'TASK'
title = "Twice"
kernel = "twice"
reference = "reference.cu"
sizes = ["n"]
[[argument]]
name = "x"
type = "f32"
role = "inout"
count = "n"
roundings = "2"
[[argument]]
name = "factor"
type = "f32"
role = "scalar"
range = [2, 3]
[[argument]]
name = "n"
type = "i32"
role = "size"
[[shape]]
n = 100
[[part]]
name = "right"
points = 7
shapes = "all"
[[hidden]]
n = [1, 1000]
TASK
echo '#define FACTOR(x) (factor * (x))' > own/double/include/own.h
echo '__global__ void reference(float *x, float factor, int n) { for (int i = 0; i < n; i++) x[i] *= factor; }' \
    > own/double/reference.cu
printf '%s\n' '// rung: grid=1 block=32' '#include "own.h"' \
    '__global__ void twice(float *x, float factor, int n)
{ for (int i = threadIdx.x; i < n; i += 32) x[i] = FACTOR(x[i]); }' > mine.cu
run 0 tasks own
prints 'double +7 +Twice'
run 0 grade own/double mine.cu
sed -i 's/FACTOR(x\[i\])/2 * x[i]/' mine.cu
run 1 grade own/double mine.cu
prints '100 of 100 elements of x are wrong'
echo '__global__ void reference(float *x, float factor, int n) { x[0] = undeclared; }' > own/double/reference.cu
run 2 grade own/double mine.cu
prints 'reference.cu did not compile'
sed -i 's/reference.cu/unknown/' own/double/task.toml
run 2 grade own/double mine.cu
prints 'reference is "unknown"; use the name of a compiled reference'
sed -i 's/points = 7/point = 7/' own/double/task.toml
run 2 grade own/double mine.cu
prints 'own/double/task.toml: line 22: points is missing'
run 2 tasks own
exit $bad
