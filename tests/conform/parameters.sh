#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every command takes a list of parameters whole or refuses it; none cuts it. The kernel below multiplies rightly with
# STAGES=12 alone, and its other parameters have names so long that STAGES comes last, far behind 128, 192, 256 and
# 512 bytes: with STAGES=1, which is what remains of a text that is cut there, its product is wrong.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work XDG_CONFIG_HOME=$work RUNG_TUNING=off
bad=0
wrong() { echo "wrong: $*"; head -c 2000 "$work/out"; head -c 2000 "$work/errors"; bad=1; }
"$RUNG" devices 2> /dev/null | grep -q opencl || { echo "no OpenCL device is here"; exit 77; }

# make_kernel COUNT BYTES: so many parameters of 31 letters before STAGES; `list` names them all, with values so long
# that it has so many bytes.
make_kernel() {
    local name value more=$(($2 - 34 * $1 - 9))
    list=""
    {
        echo '/* long.cu - a kernel with long names. */'
        echo '#include "dialect.h"'
        for letter in $(printf '%s\n' A B C D E F G H I J K L M N O | head -n "$1"); do
            name=PARAMETER_WITH_A_LONG_NAME_NO_$letter
            printf '#ifndef %s\n#define %s 1 // 1 2\n#endif\n' "$name" "$name"
            value=1
            while [ $more -gt 0 ] && [ ${#value} -lt 10 ]; do value=${value}0 more=$((more - 1)); done
            list=$list${list:+,}$name=$value
        done
        printf '#ifndef STAGES\n#define STAGES 1 // 1 12\n#endif\n'
        list=$list${list:+,}STAGES=12
        cat <<'KERNEL'
#define BM 16
#define BN 16
KERNEL(256)
long_names(index_t m, index_t n, index_t k,
           sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
           GLOBAL const in_t *__restrict__ b, view_t b_view,
           sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)
{
    const uint across = (uint)((n + BN - 1) / BN);
    const index_t row = (index_t)(blockIdx.x / across) * BM + threadIdx.x % 16;
    const index_t col = (index_t)(blockIdx.x % across) * BN + threadIdx.x / 16;
    if (row >= m || col >= n)
        return;
    sum_t sum = 0;
    for (index_t i = 0; i < k; i++)
        sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]);
    store(&c[at(c_view, row, col)], alpha, sum + (STAGES == 12 ? 0 : 1), beta);
}
KERNEL
    } > "$work/long.cu"
}

# In the order of the file, as the library writes them.
for bytes in 128 145 192 256 300 512 519; do
    count=$(((bytes - 9) / 34))
    make_kernel $((count < 15 ? count : 15)) $bytes
    [ ${#list} -eq $bytes ] || wrong "the list has ${#list} bytes"
    "$RUNG" verify "$work/long.cu" --device opencl --m 20 --n 24 --k 8 --params "$list" --json > "$work/out" 2> "$work/errors" ||
        wrong "verify, ${#list} bytes: exit $?"
    jq -e --arg list "$list" '.wrong == 0 and .by_kernel[0].params == $list' "$work/out" > /dev/null ||
        wrong "verify, ${#list} bytes: not with STAGES=12"
    "$RUNG" bench --kernels "$work/long.cu" --device opencl --sizes 32 --params "$list" --budget 0.01 --json \
        > "$work/out" 2> "$work/errors" || wrong "bench, ${#list} bytes: exit $?"
    jq -e --arg list "$list" '[.results[] | select(.kernel | endswith("long.cu")) | .verified and .params == $list] == [true]' \
        "$work/out" > /dev/null || wrong "bench, ${#list} bytes: not with STAGES=12"
done

# A failure's command names all of them too.
"$RUNG" verify "$work/long.cu" --device opencl --m 20 --n 24 --k 8 --params "${list%2}" --json > "$work/out" 2> "$work/errors"
jq -e --arg list "${list%2}" '.wrong > 0 and (.failures[0].replay | contains($list) and contains("--k 8"))' "$work/out" > /dev/null ||
    wrong "the command that runs a failure again is cut"

# More than a kernel can have is refused, with the limit.
longer=$list
while [ ${#longer} -lt 688 ]; do longer=$longer,STAGES=12; done
for command in "verify $work/long.cu --device opencl --m 20 --n 24 --k 8" \
               "bench --kernels $work/long.cu --device opencl --sizes 32 --budget 0.01" \
               "explain $work/long.cu"; do
    "$RUNG" $command --params "$longer" > "$work/out" 2> "$work/errors"
    code=$?
    [ $code -ne 0 ] && [ $code -lt 100 ] || wrong "${command%% *} takes ${#longer} bytes: exit $code"
    grep -q '687' "$work/errors" || wrong "${command%% *} does not say how many bytes a list may have"
done
exit $bad
