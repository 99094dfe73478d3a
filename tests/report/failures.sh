#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `rung report` that cannot finish: a full disk leaves no page and keeps the one that was there; an interruption
# (Ctrl-C) gives a page of what was measured so far, marked as such.
. "$(dirname "$0")/report.sh"
file=$RUNG_SOURCE/results/explain/sm_86.json

# ---- A full disk: no file may grow beyond 8 KiB
limited() { (trap '' XFSZ; ulimit -f 8; "$RUNG" report "$@" 2>&1; echo "exit $?") | cat > out; }
limited "$file" -o new.html
grep -q "^exit 2" out && grep -q "^rung: .*new.html.*File too large" out || fail "a new page: $(cat out)"
[ -z "$(ls | grep -v '^out$')" ] || fail "left behind: $(ls)"
echo "the page of before" > page.html
limited "$file" -o page.html
grep -q "^exit 2" out || fail "a page to be replaced: $(cat out)"
[ "$(cat page.html)" = "the page of before" ] || fail "the page of before was overwritten"
limited "$file" -o page.html --charts charts
grep -q "^exit 2" out || fail "charts: $(cat out)"
for chart in charts/*; do
    [ ! -e "$chart" ] || [ -s "$chart" ] || fail "$chart is empty"
done
ls -A | grep -v '^out$\|^page.html$\|^charts$' && fail "left behind"
if [ -w /dev/full ]; then
    expect 2 "a full device" "$file" -o /dev/full
    grep -q "No space left" err || fail "a full device: $(cat err)"
fi

# ---- Links are followed, and a new page has the usual permissions
mkdir -p real && ln -s real/target.html link.html
expect 0 "a link" "$file" -o link.html
[ -L link.html ] && [ -s real/target.html ] || fail "the link was replaced"
(umask 022 && "$RUNG" report "$file" -o mode.html > /dev/null) && [ "$(stat -c %a mode.html)" = 644 ] ||
    fail "permissions $(stat -c %a mode.html)"
expect 2 "a folder" "$file" -o real

# ---- Interrupted
set -m
listens() { [ -n "$1" ] && [ $(($(sed -n 's/^SigCgt:\t/0x/p' "/proc/$1/status" 2> /dev/null || echo 0) & 2)) -ne 0 ]; }
"$RUNG" report --device cpu -o stopped.html > out 2> err &
report=$!
for _ in $(seq 600); do
    child=$(cat /proc/$report/task/$report/children 2> /dev/null)
    listens "${child%% *}" && break
    sleep 0.1
done
sleep 1
kill -INT -- -$report # the whole group, as a terminal does
wait $report
code=$?
set +m
[ $code -eq 130 ] || fail "interrupted: exit $code: $(cat err)"
[ -s stopped.html ] || fail "interrupted: no page"
grep -q "interrupted" stopped.html || fail "the page does not say that it was interrupted"
grep -q "^rung: interrupted" err || fail "interrupted: nothing is said: $(cat err)"

# ---- rung bench, which measures, does not outlive rung report, and nothing is left in TMPDIR
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
# begin [PREFIX...]: starts rung report; `child` is its rung bench, which listens to SIGINT
begin() {
    "$@" "$RUNG" report --device cpu -o never.html > out 2> err &
    report=$!
    for _ in $(seq 600); do
        child=$(cat /proc/$report/task/$report/children 2> /dev/null)
        child=${child%% *}
        listens "$child" && return
        sleep 0.1
    done
    fail "rung bench does not start"
}
# gone PROCESS: within 30 s
gone() {
    for _ in $(seq 300); do
        [ ! -e "/proc/$1" ] || grep -q 'State:.Z' "/proc/$1/status" 2> /dev/null && return
        sleep 0.1
    done
    fail "process $1 is left"
    kill -KILL "$1"
}
begin
[ -z "$(ls -A "$TMPDIR")" ] || fail "a named file in TMPDIR: $(ls -A "$TMPDIR")"
kill -KILL $report
wait $report 2> /dev/null
gone "$child"
begin # a crash of rung bench has a sentence and a failing exit code
kill -KILL "$child"
wait $report
code=$?
[ $code -eq 1 ] && grep -q '^rung: rung bench was killed by signal 9' err || fail "a crash: exit $code: $(cat err)"
# As under nohup: an ignored SIGHUP stays ignored after SIGTERM. SIGCHLD, inherited as ignored, does not hide the end.
begin env --ignore-signal=HUP,CHLD
kill -TERM $report
for _ in $(seq 100); do
    [ -e /proc/$report/status ] || break
    ignored=$(sed -n 's/^SigIgn:\t/0x/p' /proc/$report/status 2> /dev/null)
    [ $((${ignored:-1} & 1)) -ne 0 ] || { fail "SIGHUP is no longer ignored"; break; }
    sleep 0.02
done
wait $report
code=$?
[ $code -eq 130 ] || fail "interrupted under nohup: exit $code: $(cat err)"
ls -A "$TMPDIR" | grep . && fail "left in TMPDIR"

# ---- A page that cannot be replaced is told before anything is run: there is no room for a longer name beside it
name=$(printf '%0250d' 0)
: > "$name"
expect 2 "a page that cannot be replaced" --device cpu -o "$name"
grep -q 'cannot be written: .*give a file' err || fail "a page that cannot be replaced: $(cat err)"
exit $bad
