#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# new_student.sh - docs/start/first-grade.md as a student follows it: from a folder with nothing but the wheel of rung, its commands are
# typed up to the first kernel with 100 points, and the messages of the usual mistakes are those that the page quotes. Prints
# the seconds that this takes. pip has no network: the wheel is made from this build (make_wheels.py). Planted: a message that
# the page quotes otherwise.
set -u
here=$RUNG_SOURCE/tests/teaching
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
python=$("$RUNG_TEST_TOOLS/python/bin/python3" -c 'import sys; print(sys.base_prefix)')/bin
mkdir -p "$work/home" "$work/student/wheels" "$work/others"
"$python/python3" "$here/make_wheels.py" "$RUNG_BUILD" "$RUNG_TEST_TOOLS" "$work/student/wheels" "$work/others" || exit 77
# The page quotes a message with the version of NVRTC; this machine may have another one beside that of the wheel.
printf '%s\n' '// rung: grid=1 block=1' '__global__ void vector_add(int n) { typo }' > "$work/typo.cu"
version=$(env -i PATH=/usr/bin:/bin HOME="$work/home" VIRTUAL_ENV="$RUNG_TEST_TOOLS/python" "$RUNG" grade vector_add "$work/typo.cu" |
    sed -n 's/.* did not compile with NVRTC \([0-9.]*\):.*/\1/p')
[ -n "$version" ] || { echo "NVRTC is not here; run tools/install-test-tools"; exit 77; }
sed "s/NVRTC 12\.9/NVRTC $version/" "$RUNG_SOURCE/docs/start/first-grade.md" > "$work/first-grade.md"
page=$work/first-grade.md
# type_page PAGE: types the commands of the page, with nothing of this machine but the system's programs.
type_page() {
    env -i HOME="$work/home" PATH="$python:/usr/bin:/bin" TMPDIR="${TMPDIR:-/tmp}" PIP_NO_INDEX=1 PIP_FIND_LINKS="$work/others" PIP_NO_COMPILE=1 \
        PIP_DISABLE_PIP_VERSION_CHECK=1 RUNG_SOURCE="$RUNG_SOURCE" PAGE_FOLDER="$work/student" bash "$RUNG_SOURCE/tests/docs/page_output.sh" "$1"
}
bad=0 began=$SECONDS
type_page "$page" || bad=1
echo "$((SECONDS - began)) s from nothing to a graded kernel and all mistakes of the page"
"$work/student/.venv/bin/rung" grade vector_add "$work/student/mine.cu" > "$work/out" || { cat "$work/out"; echo "the last mine.cu of the page does not get all points"; bad=1; }

# Planted, with the environment that is there now.
printf '%s\n' '```sh' '. .venv/bin/activate' 'rung grade mine.cu vector_add' '```' '```text' \
    'rung: name the task behind the file: rung grade vector_add mine.cu' '```' > "$work/planted.md"
type_page "$work/planted.md" > "$work/out" && { echo "planted: another message passes"; bad=1; }
grep -q 'not printed: rung: name the task behind' "$work/out" || { cat "$work/out"; echo "planted: the message is not reported"; bad=1; }
exit $bad
