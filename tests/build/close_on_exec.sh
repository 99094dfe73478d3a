#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No file that the library or the command opens is inherited by a process that the program starts meanwhile: each call
# that makes a descriptor asks for close-on-exec. What a child is to have, it gets by dup2, which clears that flag.
set -u
bad=0

# leaks FOLDER: calls that make a descriptor without it, one per line.
leaks() {
    cd "$1" || exit 1
    # The functions themselves, for systems that lack them, are left out.
    sources=$(find src lab '(' -name '*.c' -o -name '*.h' ')' ! -path 'src/base/windows/*' ! -path 'src/base/macos/*')
    # The letter e in a mode; in whatever line of a call it stands.
    grep -nHE '\b(fopen|popen|freopen)\(' $sources | grep -vE '"(r|w|a)b?\+?b?e"'
    # open() with its flags in the same line, or in a constant `flags` of the file that has them.
    grep -nHE '(^|[^>_a-zA-Z.])(open|openat)\(' $sources | grep -v 'O_CLOEXEC' | while IFS= read -r line; do
        grep -qE 'flags = .*O_CLOEXEC' "${line%%:*}" && grep -q 'flags)' <<< "$line" || echo "$line"
    done
    # Functions that cannot ask for it. The two pipes of interleave.c have an end for the child, by number.
    grep -nHE '(^|[^>_a-zA-Z.])(mkstemp|pipe|tmpfile|creat|dup)\(' $sources | grep -vE '^lab/bench/interleave\.c:'
}

found=$(leaks "$RUNG_SOURCE")
[ -z "$found" ] || { echo "$found"; echo "... without close-on-exec"; bad=1; }

# Planted: each kind is found.
copy=$(mktemp -d) && trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/lab" "$copy/src"
number=0
while IFS= read -r line; do
    number=$((number + 1))
    echo "$line" > "$copy/src/planted.c"
    [ -n "$(leaks "$copy")" ] || { echo "not found: $line"; bad=1; }
done <<'LINES'
    FILE *file = fopen(path, "r");
    FILE *file = fopen(path, "a+b");
    FILE *file = popen(command, "r");
    int file = open(path, O_RDONLY);
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW);
    int file = mkstemp(path);
    FILE *file = tmpfile();
    if (pipe(ends) != 0)
LINES
[ $number -eq 8 ] || { echo "where are the lines?"; bad=1; }
exit $bad
