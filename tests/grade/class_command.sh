#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# class_command.sh [--keep FOLDER] - rung grade --class: files and folders of students, hostile names and links, the exit code, the
# numbers of the text, the JSON and the page, and the page in Chromium if it is installed. --keep saves pictures of the page.
set -u
RUNG=${RUNG:-$RUNG_BUILD/rung}
export VIRTUAL_ENV=$RUNG_TEST_TOOLS/python LC_ALL=C.UTF-8
here=$RUNG_SOURCE/tests/grade
task=$RUNG_SOURCE/tasks/vector_add
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
json() { [ "$(jq -r "$1" out)" = "$2" ] || { fail "$1 is $(jq -r "$1" out) instead of $2"; }; }

"$RUNG" grade vector_add "$task/solution.cu" > first 2>&1
[ $? -ne 77 ] || { cat first; exit 77; }

# ---- A class: files, folders, and what students hand in by mistake or on purpose ----
mkdir -p class/dora class/erik class/fritz class/.hidden other
cp "$task/solution.cu" class/ann.cu
cp "$task/wrong/no_bound.cu" class/bob.cu
cp "$task/wrong/round_down.cu" class/cem.cu
cp "$task/solution.cu" class/dora/anything.cu
cp "$task/solution.cu" class/erik/vector_add.cu && echo broken > class/erik/draft.cu
cp "$task/solution.cu" class/fritz/a.cu && cp "$task/solution.cu" class/fritz/b.cu
cp "$task/skeleton.cu" class/gina.cu
cp "$task/wrong/no_bound.cu" class/hugo.cu
cp "$task/wrong/chunk_per_thread.cu" class/ines.cu
echo '// rung: grid=1 block=1' > class/jan.cu && echo '__global__ void vector_add(const float *a) { x }' >> class/jan.cu
ln -s /etc/passwd class/link.cu
mkdir class/mia && ln -s /etc/passwd class/mia/mine.cu
mkfifo class/nora.cu
hostile="<script>window.hacked=1<&amp;'"
printf '%s\n' '// rung: grid=(n+255)/256 block=256' '__global__ void vector_add(const float *a, const float *b, float *c, int n)' \
    '{ c[n] = 0; /* </code><script>window.hacked=1</script> ]]> &amp; */ }' > "class/$hostile.cu"
mv "class/ines.cu" $'class/in\tes\e[1m.cu'
echo 'not a submission' > class/README.md
cp "$task/solution.cu" class/.hidden/x.cu
before=$(ls -lAR class)

run 1 grade vector_add --class class --json --html page.html --seed 7 --jobs 3
cp out class.json
json .schema rung-class/1
json .submissions 14
json .full 3
json '[.students[] | select(.points == .max_points) | .name] | join(" ")' 'ann dora erik'
json '.students[] | select(.name == "fritz") | .problem' 'the folder has several files that end in .cu; name one of them vector_add.cu'
json '[.students[] | select(.problem | contains("symbolic link")) | .name] | join(" ")' 'link mia'
json '.students[] | select(.name == "nora") | .problem' 'it is not a regular file'
json '.mistakes[] | select(.reason == "the file does not compile") | .students' 1
json '.mistakes[] | select(.reason == "no file to grade") | .students' 4
json '.mistakes[] | select(.reason == "out-of-bounds") | [.students, .example.line > 0, .example.source != ""] | map(tostring) | join(" ")' '3 true true'
json '[.students[].name] | map(select(test("[\u0000-\u001f]"))) | length' 0
! grep -q 'root:' out page.html || fail "a link was followed"
[ "$(ls -lAR class)" = "$before" ] || fail "the folder of the class has changed"
python3 -B "$here/class_page.py" page.html class.json || fail "the page differs from the JSON"

# Every student's grade is that of rung grade for this file alone, and does not depend on the number of processes.
for name in ann bob cem jan; do
    run $([ $name = ann ]; echo $?) grade vector_add class/$name.cu --json --seed 7
    jq 'del(.schema, .task, .file, .seed)' out > alone
    jq --arg name $name '.students[] | select(.name == $name) | del(.name, .file)' class.json > together
    cmp -s alone together || { fail "$name is graded otherwise in the class"; diff alone together; }
done
run 1 grade vector_add --class class --json --html one.html --seed 7 --jobs 1
cmp -s out class.json && cmp -s one.html page.html || fail "the grades depend on the number of processes"

# ---- Text ----
run 1 grade vector_add --class class --seed 7
prints 'vector_add: 14 submissions in class, seed 7 3 with all 100 points; mean [0-9.]+, median [0-9.]+'
prints 'bob 80 no wrong accesses'
prints 'fritz 0 no file to grade'
prints 'Most common mistakes: .*3 out-of-bounds'
! grep -q $'\e' out || fail "a name changes the terminal"

# ---- Exit codes and wrong uses ----
cp "$task/solution.cu" other/a.cu && cp "$task/solution.cu" other/b.cu
run 0 grade vector_add --class other --html all.html --json
python3 -B "$here/class_page.py" all.html out || fail "the page of a class without mistakes differs from the JSON"
mkdir empty
run 2 grade vector_add --class empty
prints 'empty has no file that ends in .cu, and no folder of a student'
run 2 grade vector_add --class missing
prints 'missing: No such file'
run 2 grade vector_add mine.cu --class class
prints 'class needs a task and no file'
run 2 grade vector_add mine.cu --html page.html
prints 'html needs --class'
run 2 grade vector_add --class class --junit j.xml
prints 'junit is for one file'
run 2 grade vector_add --class class --jobs 0
prints 'use a number from 1 to 256'
run 2 grade vector_add --class class --html nowhere/page.html
prints 'nowhere/page.html'
cp -r "$task" broken && sed -i 's/reference = .*/reference = "unknown"/' broken/task.toml
run 2 grade ./broken --class other
prints 'reference is "unknown"'

# ---- Signals ----
printf '%s\n' '// rung: grid=1 block=1' '__global__ void vector_add(volatile float *a, const float *b, float *c, int n) { while (a[0] < 2) ; }' > other/c.cu
sed 's/million_per_warp.*//; s/^order.*/order = 1\nmillion_per_warp = 1000/' "$task/task.toml" > slow.toml
cp -r "$task" slow && cp slow.toml slow/task.toml
"$RUNG" grade ./slow --class other > out 2>&1 &
child=$!
sleep 1
kill -TERM $child
wait $child
[ $? -eq 130 ] || { fail "an interrupted class ends with $?"; cat out; }
prints 'interrupted: nothing was graded'

# ---- The page in a browser ----
if browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome); then
    timeout 120 python3 -B "$here/class_browser.py" "$browser" "$work/profile" page.html all.html "$@" || fail "Chromium found faults"
else
    echo "no Chromium is here (Debian: chromium): the page was not opened"
fi
exit $bad
