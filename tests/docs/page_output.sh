#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# page_output.sh PAGE [--update] - what a page says is what happens. The commands of its ```sh blocks are typed line by line, in the
# repository's folder; the lines of the ```text block behind them must be printed by them, in that order, each whole.
# A line `...` stands for any others. With --update a quote that is not printed is replaced by what was found. Blocks that install or build are not typed: they begin with sudo, cmake, git,
# pip or python3 -m venv.
# 77 where NVRTC is missing, without which half of the words are.
# With PAGE_FOLDER, the commands are typed in that folder, as a beginner types them: those that install with python3 and pip, too,
# and `rung` is the one that they install. A ```c block whose first line is `// FILE.cu` is saved as this file.
set -u
cd "$RUNG_SOURCE" || exit 1
page=$(realpath "$1") update=${2:-} folder=${PAGE_FOLDER:-}
if [ -n "$folder" ]; then
    work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
    out=$work/out block=$work/block
    cd "$folder" || exit 1
else
    . tests/support/explain_tools.sh
fi
commands=0 quotes=0 bad=0

# One block: what it prints goes to $out, with the parameters of the width of tables taken out.
type_block() {
    : > "$out"
    local line
    while IFS= read -r line; do
        case $line in
        "" | "#"* | sudo* | cmake* | git* | cd*) continue ;;
        "pip "* | "python3 -m venv "*) [ -n "$folder" ] || continue ;;
        esac
        commands=$((commands + 1))
        eval "$line" >> "$out" 2>&1 < /dev/null
        last=$?
        [ $last -le 1 ] || [ $last -eq 77 ] || { [ -n "$folder" ] && [ $last -eq 2 ]; } || { echo "$page: $line exits with $last"; cat "$out"; bad=1; }
        [ $last -ne 77 ] || { echo "$line: nothing to run on"; cat "$out"; exit 77; }
    done < "$block"
}

# Saves the block if its first line names a file.
save_block() {
    local name
    name=$(sed -n '1s|^// \([a-z_]*\.cu\)$|\1|p' "$block")
    [ -z "$name" ] || cp "$block" "$name"
}

# Every line of the quote, in order.
compare_block() {
    [ -s "$block" ] && awk 'function bare(x) { gsub(/[ \t]+/, " ", x); sub(/^ /, "", x); sub(/ $/, "", x); return x }
        FNR == NR { line = bare($0); if (line != "" && line != "...") quoted[++count] = line; next }
        { if (at < count && bare($0) == quoted[at + 1]) at++ }
        END { if (at < count) { print "not printed: " quoted[at + 1]; exit 1 } }' "$block" "$out" && return
    if [ "$update" = --update ]; then
        sed -n '/^Found/,/^$/p; /^Oclgrind found/p' "$out" | awk '!seen[$0]++ && $0 != ""' > "$block"
        return
    fi
    echo "$page: after: $typed"
    echo "--- printed:"
    cat "$out"
    bad=1
}

kind= typed=
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '```sh') kind=sh; : > "$block" ;;
    '```text') kind=text; : > "$block" ;;
    '```c') [ -z "$folder" ] || kind=c; : > "$block" ;;
    '```'*)
        [ "$kind" = sh ] && { typed=$(tail -n 1 "$block"); type_block; }
        [ "$kind" = c ] && save_block
        [ "$kind" = text ] && { quotes=$((quotes + 1)); compare_block; cat "$block" >> "$work/page"; }
        kind= ;;
    *)
        [ -n "$kind" ] && printf '%s\n' "$line" >> "$block" ;;
    esac
    [ "$kind" = text ] && [ "$line" != '```text' ] || printf '%s\n' "$line" >> "$work/page"
done < "$page"
[ "$update" = --update ] && cat "$work/page" > "$page"
echo "$page: $commands commands, $quotes quotes"
[ $commands -ge 5 ] && [ $quotes -ge 5 ] || { echo "hardly a thing was checked"; bad=1; }
exit $bad
