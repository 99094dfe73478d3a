#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `rung explain` says when it fails: compile errors name the user's file and line, and a TMPDIR that cannot
# be written is named with the reason. 77 without Oclgrind.
set -u
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
wrong=0
fail() { echo "wrong: $*"; wrong=1; }
has() { grep -q -- "$2" "$1" || { fail "no \"$2\" in:"; head -c 3000 "$1"; }; }
lacks() { ! grep -q -- "$2" "$1" || { fail "\"$2\" in:"; head -c 3000 "$1"; }; }

# An error that only the OpenCL compiler sees, behind two included headers.
awk '/sum_t sum = 0;/ { print "#ifdef __OPENCL_VERSION__\n    sum_t sum = missing_name;\n#else\n" $0 "\n#endif"; next } 1' \
    "$RUNG_SOURCE/src/simt/kernels/01_naive.cu" > mine.cu
line=$(grep -n missing_name mine.cu | cut -d: -f1)
timeout 120 "$RUNG" explain mine.cu --m 64 --quiet > out 2>&1
code=$?
[ $code -ne 77 ] || exit 77
[ $code -eq 1 ] || fail "a kernel that does not compile exits with $code"
has out "mine.cu:$line:.*missing_name"
lacks out "input\.cl"
[ "$(grep -c "did not compile" out)" -eq 1 ] || { fail "the compiler's message is not printed once:"; cat out; }

# A TMPDIR without space: every write fails, as on a full disk.
mkdir "$work/full"
(
    trap '' XFSZ
    ulimit -f 0
    TMPDIR=$work/full timeout 120 "$RUNG" explain 01 --m 64 --quiet 2>&1
    echo "exit $?"
) | cat > out
has out "TMPDIR=$work/full"
has out "File too large"
has out "exit 1"
lacks out "said nothing"
[ -z "$(ls "$work/full")" ] || fail "left in TMPDIR: $(ls "$work/full")"

# A TMPDIR that does not exist.
TMPDIR=$work/none timeout 120 "$RUNG" explain 01 --m 64 --quiet > out 2>&1
has out "TMPDIR=$work/none"
has out "No such file"
exit $wrong
