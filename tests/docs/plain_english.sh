#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Flags the worst patterns of hard-to-read English in headers, help, messages and pages: "a X a Y" in the sense of
# "per", words of a private vocabulary, and Markdown lines over 100 columns outside tables and code. plain_english.allowed
# lists fragments that match by accident, one per line.
set -u
export LC_ALL=C.UTF-8
cd "$RUNG_SOURCE" || exit 1
bad=0
allowed=tests/docs/plain_english.allowed

# "a thread a block", "one record a line"; not "gives a kernel a name" (see the allowed fragments).
per='\b(an?|one) [a-z]+ an? [a-z]+\b'
not_per='\b(an?|one) (after|and|as|at|before|by|for|from|in|into|is|of|on|or|per|than|that|to|with) an?\b'
words='\bso many\b|\b(is|are) none\b|\bstands?\b|\bgone on\b|\bheld (to|against)\b|\btold\b|\bsees? through\b|\bsettles?\b'
not_words='\bthere (is|are) none\b'

# list_texts: prints FILE:LINE:TEXT for every line of prose: pages without code and generated tables, comments of the public
# headers, lists of help texts, and string literals of the sources.
list_texts() {
    git ls-files '*.md' | grep -vE '^(results|tests)/' | while read -r page; do
        awk -v page="$page" '/^ *```/ { code = !code; next } /^<!-- numbers/ { table = 1 } /^<!-- end/ { table = 0 }
                             !code && !table { print page ":" FNR ":" $0 }' "$page"
    done
    grep -nE '^ ?\*|/\*' include/rung/*.h
    grep -n '"' lab/cli/*.def
    grep -rnoE --include='*.[ch]' '"[^"]{12,}"' src lab
}

# find_patterns: prints the lines of standard input that match, without the allowed fragments.
find_patterns() {
    sed -E "s/$not_per//g; s/$not_words//g" | grep -E "$per|$words" | grep -vF -f "$allowed"
}

list_texts > "${work:=$(mktemp)}" && trap 'rm -f "$work"' EXIT
[ "$(wc -l < "$work")" -gt 2000 ] || { echo "only $(wc -l < "$work") lines of text found"; bad=1; }
if find_patterns < "$work"; then
    echo "... rewrite these lines, or add the fragment to $allowed if it reads well"
    bad=1
fi

# Lines over 100 columns; tables, pictures and single long links may not fit.
if grep -E '^[^:]*\.md:[0-9]+:.{101,}' "$work" | grep -vE '^[^:]*:[0-9]+: *(\||\[?!\[|[^ ]+$)'; then
    echo "... these lines have more than 100 columns"
    bad=1
fi

# Planted: sentences that must be found.
for sentence in "32 threads a warp, a record a line" "with so many threads" "the answer is none" "it is held to the oracle" \
    "the caller is told" "a plan stands on its device"; do
    find_patterns <<< "planted.md:1:$sentence" > /dev/null || { echo "not found: $sentence"; bad=1; }
done
exit $bad
