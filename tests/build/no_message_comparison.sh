#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Control flow must not depend on the wording of a message: no source compares a sentence with a text.
# States, kinds and statuses are enums. Text that other programs write (Oclgrind, nvdisasm, ptxas, the
# system's files) has to be read, and is not held in variables of these names.
set -u
cd "$RUNG_SOURCE" || exit 1
bad=0

# Variables and functions that hold a sentence for people.
sentence='(why|why_not|why_skipped|why_uncounted|message|sentence|reason|doubt|warning|refused|rejected|origin|origin_text|rung_error_text\(\))'
compares="str(n?cmp|n?casecmp|str|r?chr) *\\([^;\"]*\\b$sentence *,[^;]*[\"']"
begins="\\b$sentence\\[0\\] *[!=]= *'[^\\\\]"
letter="\\bname\\[0\\] *== *'[A-Za-z]'"

# look FOLDER... - prints the lines that decide by a sentence
look() {
    grep -rnE --include='*.[ch]' --include='*.cpp' "$compares|$begins|$letter" "$@"
}

if look src lab tools include; then
    echo "... decides by the wording of a message; use an enum or a status"
    bad=1
fi

# The check must be able to fail: these are the forms that it is for.
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
while IFS= read -r line; do
    printf '%s\n' "$line" > "$work/planted.c"
    look "$work" > /dev/null || { echo "not noticed: $line"; bad=1; }
done << 'END'
    if (strncmp(contender->why_not, "WRONG", 5) == 0)
    bool outside = strncmp(outcome->message, "wrote outside", 13) == 0;
    return name[0] == 'C' ? check(&problem) : OK;
    if (strstr(rung_error_text(), "out of memory"))
    trial->kind = strcmp(row.why_not, "interrupted") == 0 ? A : B;
    if (why[0] == 'W')
    row->vendor_tuned = vendor && strcmp(vendor->origin_text, "defaults") != 0;
    return strchr(info->origin_text, '/') ? RECORD : DEFAULTS;
END
exit $bad
