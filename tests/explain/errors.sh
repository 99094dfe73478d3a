#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `rung explain` says when it fails: compile errors name the user's file and line, and kernels that never end
# are stopped. 77 without NVRTC.
set -u
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
wrong=0
fail() { echo "wrong: $*"; wrong=1; }
has() { grep -q -- "$2" "$1" || { fail "no \"$2\" in:"; head -c 3000 "$1"; }; }
lacks() { ! grep -q -- "$2" "$1" || { fail "\"$2\" in:"; head -c 3000 "$1"; }; }

# A compile error behind two included headers.
awk '/sum_t sum = 0;/ { print "    sum_t sum = missing_name;"; next } 1' \
    "$RUNG_SOURCE/src/simt/kernels/01_naive.cu" > mine.cu
line=$(grep -n missing_name mine.cu | cut -d: -f1)
timeout 120 "$RUNG" explain mine.cu --m 64 --quiet > out 2>&1
code=$?
[ $code -ne 77 ] || exit 77
[ $code -eq 2 ] || fail "a kernel that does not compile exits with $code"
has out "mine.cu($line).*missing_name"
[ "$(grep -c "did not compile" out)" -eq 1 ] || { fail "the compiler's message is not printed once:"; cat out; }

# A kernel that never ends.
sed 's/for (index_t i = 0; i < k; i++)/for (index_t i = 0; i < k; i += n > 0 ? 0 : 1)/' "$RUNG_SOURCE/src/simt/kernels/01_naive.cu" > endless.cu
timeout 120 "$RUNG" explain endless.cu --m 64 --quiet --time-limit 1 > out 2>&1
[ $? -eq 1 ] || fail "a kernel that never ends exits with another code than 1"
has out "endless.cu\|infinite loop\|instructions"

# A disassembler that never ends.
printf '#!/bin/sh\nexec yes ""\n' > endless && chmod +x endless
RUNG_NVDISASM=$work/endless timeout 100 "$RUNG" explain 01 --m 64 --quiet > out 2>&1
code=$?
[ $code -eq 0 ] || fail "an endless disassembler: exit $code"
has out "nvdisasm printed more than"
lacks out "^Predicted"

# A disassembler that closes its output and hangs: a signal ends it and the command, and nothing is left in TMPDIR.
printf '#!/bin/sh\necho $$ > "%s/hanging"\nexec sleep 60 > /dev/null 2>&1\n' "$work" > hangs && chmod +x hangs
mkdir "$work/tmp"
TMPDIR=$work/tmp RUNG_NVDISASM=$work/hangs timeout 100 "$RUNG" explain 01 --m 64 --quiet > out 2>&1 &
process=$!
for _ in $(seq 600); do [ -s hanging ] && break; sleep 0.1; done
if [ -s hanging ]; then
    sleep 0.5
    started=$(date +%s)
    kill -TERM $process # timeout passes it on
    wait $process
    [ $(($(date +%s) - started)) -lt 40 ] || fail "the signal is ignored while the disassembler hangs"
    for _ in $(seq 100); do kill -0 "$(cat hanging)" 2> /dev/null || break; sleep 0.1; done
    kill -KILL "$(cat hanging)" 2> /dev/null && fail "the disassembler is left"
    [ -z "$(ls -A "$work/tmp")" ] || fail "left in TMPDIR: $(ls -A "$work/tmp")"
else
    fail "the disassembler was not started: $(cat out)"
fi

# More findings than are listed: the page says so. Each of 16 lines reads its part of k, and a warp is half empty.
awk '/for \(index_t i/ { skip = 4
        for (j = 0; j < 16; j++)
            printf "    for (index_t i = %d; i < k; i += 16) sum += widen(a[at(a_view, row, i)]) * widen(b[at(b_view, i, col)]);\n", j }
    skip > 0 { skip--; next }
    { sub("KERNEL\\(32\\)", "KERNEL(48)"); sub("BM 32", "BM 48\n#define BK 16") } 1' \
    "$RUNG_SOURCE/tests/explain/kernels/uncoalesced.cu" > spread.cu
timeout 120 "$RUNG" explain spread.cu --m 96 --quiet > out 2>&1
[ "$(grep -c "spread.cu:.*uncoalesced load of a" out)" -eq 15 ] || { fail "15 findings and one before them:"; cat out; }
has out "(not listed: 1 more)"

# A table of reported values with a name that does not fit is refused, not cut.
printf 'machine\tkernel\tparams\tdtype\tsize\tgflops\tdocument\tnote\nrtx3090\t%s\t-\tf32\t256\t9\tx\t-\n' \
    "$(printf '%080d' 4)" > reported.tsv
timeout 60 "$RUNG" explain --compare reported.tsv --quiet > out 2>&1
[ $? -eq 2 ] || fail "a long kernel name in a table is accepted"
has out "reported.tsv:2: .*too long"
exit $wrong
