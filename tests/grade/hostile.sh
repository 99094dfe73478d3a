#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hostile.sh [NAME...] - submissions that try to read files, to exhaust the machine or to get points by other means. Each ends
# with a grade (the exit code 0 or 1, and complete JSON), prints no secret, changes no file, and takes limited time.
set -u
RUNG=${RUNG:-$RUNG_BUILD/rung}
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
task=$RUNG_SOURCE/tasks/vector_add
wanted=" $* "
bad=0 count=0
word=secret_word_4711

mkdir "$work/student" "$work/tmp"
export TMPDIR=$work/tmp SECRET_VARIABLE=$word
cd "$work/student" || exit 1
"$RUNG" grade vector_add "$task/solution.cu" > "$work/first" 2>&1
[ $? -ne 77 ] || { cat "$work/first"; exit 77; }

printf '%s\n' "#define $word 1" "$word error" > "$work/secret.h"
cp "$work/secret.h" secret.h
ln -s "$work/secret.h" link.h

head='// rung: grid=(n+255)/256 block=256'
sign='__global__ void vector_add(const float *a, const float *b, float *c, int n)'
good="$sign { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }"

# list: what a submission could change.
list() { find "$work/student" "$work/tmp" "$task" -newer "$work/first" ! -name mine.cu -type f; ls -A "$work/student" "$work/tmp"; }
: > mine.cu
list > "$work/before"

# run NAME CODE [POINTS]: grades mine.cu. CODE is the exit code, or any for 0 or 1; POINTS is a test of [ for the points.
run() {
    local name=$1 code=$2 points=${3:--ge 0} result start=$SECONDS
    case $wanted in "  " | *" $name "*) ;; *) return ;; esac
    count=$((count + 1))
    "$RUNG" grade vector_add mine.cu --json --time-limit 3 > "$work/out" 2> "$work/errors" < /dev/null
    result=$?
    [ "$code" != any ] || [ $result -gt 1 ] || code=$result
    [ "$result" = "$code" ] || { echo "$name: exit code $result instead of $code"; head -c 2000 "$work/out" "$work/errors"; bad=1; }
    [ "$(jq -r .schema "$work/out" 2>&1)" = rung-grade/1 ] && [ "$(jq .points "$work/out")" $points ] ||
        { echo "$name: no JSON, or the points are not $points:"; head -c 2000 "$work/out"; bad=1; }
    ! grep -qE "$word|root:|ELF" "$work/out" "$work/errors" || { echo "$name: a secret is printed:"; head -c 2000 "$work/out"; bad=1; }
    [ $((SECONDS - start)) -le 100 ] || { echo "$name took $((SECONDS - start)) seconds"; bad=1; }
    [ "$(wc -c < "$work/out")" -lt 200000 ] || { echo "$name prints $(wc -c < "$work/out") bytes"; bad=1; }
    list > "$work/after"
    cmp -s "$work/before" "$work/after" || { echo "$name changed files:"; diff "$work/before" "$work/after"; bad=1; }
}

# attack NAME CODE POINTS TEXT: a submission with this text.
attack() {
    printf '%s\n' "$4" > mine.cu
    run "$1" "$2" "$3"
}
# before NAME TEXT: the text before a right kernel. The file must not be read, whether the rest compiles or not.
before() { attack "$1" any "-ge 0" "$head
$2
$good"; }
# refused NAME TEXT: the same, and there are no points.
refused() { attack "$1" 1 "-eq 0" "$head
$2
$good"; }
# body NAME TEXT: a kernel with this body gets less than all points.
body() { attack "$1" 1 "-lt 100" "$head
$sign { $2 }"; }

# ---- Files: none of them is read ----
before include_beside '#include "secret.h"'
before include_angle '#include <secret.h>'
before include_parent '#include "../secret.h"'
before include_link '#include "link.h"'
before include_next '#include_next <secret.h>'
refused include_absolute "#include \"$work/secret.h\""
refused include_absolute_angle "#include <$work/secret.h>"
refused include_passwd '#include "/etc/passwd"'
refused include_dots '#include "/usr/../etc/passwd"'
refused include_environment '#include "/proc/self/environ"'
refused include_maps '#include "/proc/self/maps"'
refused include_descriptor '#include "/proc/self/fd/0"'
refused include_zero '#include "/dev/zero"'
refused include_stdin '#include "/dev/stdin"'
refused include_task "#include \"$task/task.toml\""
attack include_solution 1 "-eq 0" "#include \"$task/solution.cu\""
attack include_solution_relative 1 "-eq 0" '#include "../../tasks/vector_add/solution.cu"'
refused include_macro "#define FILE \"$work/secret.h\"
#include FILE"
refused include_stringified "#define TEXT(x) #x
#include TEXT(/etc/passwd)"
before include_self '#include __FILE__'
refused embed 'const unsigned char data[] = {
#embed "/etc/passwd"
};'
before line_directive '#line 1 "/etc/passwd"'
body line_of_finding "
#line 1 \"$work/secret.h\"
c[threadIdx.x + n] = 0;"
refused line_of_error "#line 1 \"$work/secret.h\"
error here"
body incbin 'asm volatile(".incbin \"/etc/passwd\";"); c[0] = 1;'
body asm_include 'asm volatile(".include \"/etc/passwd\""); c[0] = 1;'
body asm_file 'asm volatile(".file 1 \"/etc/passwd\""); asm volatile(".loc 1 1 1"); c[n] = 1;'
# __has_include and __FILE__ do not say what exists.
for file in /etc/passwd "$work/secret.h" secret.h "$task/task.toml" "$task/reference.c"; do
    attack "has_include_$(basename "$file")_$(tr / _ <<< "$(dirname "$file")" | tail -c 9)" 1 "-eq 0" "$head
#if __has_include(\"$file\") || __has_include(<$file>)
$good
#endif"
done

# ---- The compiler ----
refused template_recursion 'template <int N> struct deep { static const int value = deep<N + 1>::value; };
const int value = deep<0>::value;'
refused template_explosion 'template <int N, class T> struct tree { typename tree<N - 1, T *>::type a; typename tree<N - 1, T &&(*)()>::type b; typedef tree type; };
template <class T> struct tree<0, T> { typedef int type; };
tree<40, int> root;'
{
    echo "$head"; echo '#define L0 + 1'
    for i in $(seq 1 40); do echo "#define L$i L$((i - 1)) L$((i - 1))"; done
    echo 'const int value = 0 L40;'; echo "$good"
} > mine.cu
run macro_bomb 1 "-eq 0"
refused constexpr_loop 'constexpr int spin() { int i = 0; while (true) i = (i + 1) % 7; return i; }
constexpr int value = spin();'
body unroll '_Pragma("unroll 100000000") for (int i = 0; i < 100000000; i++) c[i % n] = sinf(a[i % n]) * i;'
before huge_global '__device__ char big[1LL << 40];'
body huge_global_used 'static __device__ char big[1LL << 40]; big[n] = 1; c[0] = big[0];'
body huge_initialised 'static __device__ int big[1 << 27] = {1}; c[0] = big[n];'
body huge_shared '__shared__ float big[1 << 28]; big[n] = 1; c[0] = big[0];'
body huge_local 'volatile float big[1 << 24]; big[n] = 1; c[0] = big[n];'
body huge_constant 'static __constant__ float big[1 << 26]; c[0] = big[n];'
{ echo "$head"; echo "$good"; head -c 2000000 /dev/zero | tr '\0' ' '; } > mine.cu
"$RUNG" grade vector_add mine.cu > "$work/out" 2>&1
[ $? -eq 2 ] || { echo "a file of 2 MB is not refused"; cat "$work/out"; bad=1; }
{ echo "$head"; echo -n 'const int value = '; head -c 200000 /dev/zero | tr '\0' '('; echo ';'; echo "$good"; } > mine.cu
run deep_brackets 1 "-eq 0"
{ echo "$head"; echo -n 'namespace n { '; for i in $(seq 1 20000); do echo -n "namespace n$i { "; done; } > mine.cu
run deep_namespaces 1 "-eq 0"
{ echo "$head"; echo "$good"; printf 'int a\0b;\n'; } > mine.cu
run nul_byte any
head -c 100000 /bin/ls > mine.cu
run binary 1 "-eq 0"
{ echo "$head"; for i in $(seq 1 20000); do echo "undeclared_$i x$i;"; done; } > mine.cu
run many_errors 1 "-eq 0"
{ echo "$head"; echo -n 'int '; head -c 900000 /dev/zero | tr '\0' x; echo ' = undeclared;'; } > mine.cu
run long_name 1 "-eq 0"
{ echo "$head"; echo "$sign {"; for i in $(seq 1 12); do echo "#define P$i P$((i - 1)) P$((i - 1)) P$((i - 1))"; done
  echo '#define P0 asm volatile("mov.u32 %0, %%clock;" : "=r"(t));'; echo 'unsigned t; P12 c[0] = t; }'; } > mine.cu
run long_ptx any
attack no_kernel 1 "-eq 0" "$head
int main() { return 0; }"
: > mine.cu
run empty 1 "-eq 0"
before host_code '#include <cstdlib>
static int effect = system("touch /tmp/rung_effect; touch effect");
__attribute__((constructor)) static void start() { system("touch effect"); }'
[ ! -e /tmp/rung_effect ] || { echo "host code ran"; bad=1; }

# ---- Launch lines ----
for line in 'grid=2147483647 block=1024' 'grid=n/0 block=1' 'grid=-1 block=1' 'grid=1<<62,1<<62,1<<62 block=1024' \
    'grid=1 block=1 shared=1<<40' 'grid=1 block=1 cluster=0' 'grid=9223372036854775807+1 block=1' \
    'grid=1 block=1 kernel=vector_add<1>(),system("x")' 'grid=1 block=1 template=1>;}int(x' \
    'grid=1 block=1 a=f32[n]:/etc/passwd' 'grid=1 block=1 a=f32[1<<60]' 'grid=1 block=1 n=99999999'; do
    attack "line: $line" 1 "-eq 0" "// rung: $line
$good"
done
attack deep_expression 1 "-eq 0" "// rung: grid=$(head -c 100000 /dev/zero | tr '\0' '(')1 block=1
$good"
{ for i in $(seq 1 100); do echo "$head"; done; echo "$good"; } > mine.cu
run many_launches 1 "-eq 0"
attack own_memory 1 "-eq 0" "// rung: grid=1 block=1 t=f32[1<<26]:zero
__global__ void vector_add(const float *a, const float *b, float *c, int n, float *t) { t[n] = 1; }"

# ---- Kernels ----
body endless_loop 'for (;;) ((volatile float *)c)[0] = 1;'
body slow_threads 'for (int i = 0; i < 60000; i++) ((volatile float *)c)[threadIdx.x % n] = i;'
attack recursion 1 "-lt 100" "$head
__device__ __noinline__ float dive(float x, int n) { volatile float room[64]; room[n % 64] = x; return n < 0 ? x : dive(x + room[(n + 1) % 64], n + 1); }
$sign { c[0] = dive(a[0], 1); }"
attack print_flood 1 "-lt 100" "$head
#include <cstdio>
$sign { for (int i = 0; i < 20000; i++) printf(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx%d\\n\", i); }"
attack print_codes 0 "-eq 100" "$head
#include <cstdio>
$sign { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; if (i == 0) printf(\"\\033]0;title\\007\\033[2J\\b\\b\\xff\\xfe\\\"}]\"); }"
! grep -q $'\033\|\007' "$work/out" || { echo "control characters are printed"; bad=1; }
body heap 'for (int i = 0; i < 1000; i++) ((volatile char *)malloc(1 << 20))[0] = 1;'
body read_everything 'for (long long i = -100000; i < 100000; i += 64) c[threadIdx.x % n] += a[i];'
body read_host 'c[0] = *(volatile float *)0x400000; c[1] = *(volatile float *)0x7fff00000000; *(volatile int *)8 = 1;'
body write_inputs 'int i = blockIdx.x * 256 + threadIdx.x; if (i < n) { c[i] = a[i] + b[i]; ((float *)a)[i] = ((float *)b)[i] = 0; }'
body guess_constant 'int i = blockIdx.x * 256 + threadIdx.x; if (i < n) c[i] = 0.25f;'
body nothing ''
body nan_everywhere 'int i = blockIdx.x * 256 + threadIdx.x; if (i < n) c[i] = nanf("");'
body deadlock 'if (blockIdx.x == 0) while (((volatile float *)c)[n - 1] != 42.0f) {} else if (blockIdx.x == 100000) c[n - 1] = 42;'
body trap 'asm volatile("trap;");'
body exit_early 'asm volatile("exit;");'
body asm_garbage 'asm volatile("garbage %r1, {;");'
body asm_second_entry 'asm volatile("ret; } .visible .entry evil() { ret;");'
attack shadowed_names 1 "-lt 100" "$head
#define if while
#define i n
$good"
attack redefined_kernel any "-ge 0" "$head
#define vector_add other
$good"
attack public_shapes_only 1 "-lt 100" "$head
$sign { int i = blockIdx.x * 256 + threadIdx.x; if ((n == 1024 || n == 16384) && i < n) c[i] = a[i] + b[i]; }"

# ---- What is no file ----
rm -f mine.cu && mkfifo mine.cu
timeout 20 "$RUNG" grade vector_add mine.cu > "$work/out" 2>&1
[ $? -eq 2 ] || { echo "a FIFO is not refused"; cat "$work/out"; bad=1; }
rm mine.cu && ln -s /dev/zero mine.cu
timeout 20 "$RUNG" grade vector_add mine.cu > "$work/out" 2>&1
[ $? -eq 2 ] || { echo "/dev/zero is not refused"; cat "$work/out"; bad=1; }

[ "$wanted" != "  " ] || [ $count -ge 50 ] || { echo "only $count submissions ran"; bad=1; }
echo "$count submissions"
exit $bad
