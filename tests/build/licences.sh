#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence in one of its first two lines, and every C
# file and kernel then says why it exists.
set -u
cd "$RUNG_SOURCE" || exit 1
files=$(find src include lab tasks tests tools cmake packaging .ci CMakeLists.txt -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' -o -name '*.cmake' -o -name 'CMakeLists.txt' \
           -o -perm -u+x \) ! -path 'tests/abi/*/client-*' | sort) # those are compiled from the client.c beside them
[ "$(wc -l <<< "$files")" -gt 40 ] || { echo "too few files:"; echo "$files"; exit 1; }
# A file that has fewer than two lines is reported, too.
awk '
    function check() {
        if (file == "") return
        if (head !~ /SPDX-License-Identifier: Apache-2.0/) { print file ": no SPDX line"; bad = 1 }
        name = file; sub(/.*\//, "", name)
        if (sub(/\.([ch]|cu)$/, "", name) && index(second, "/* " name) == 0) {
            print file ": its second line does not name it and say why it exists"; bad = 1
        }
    }
    FNR == 1 { check(); file = FILENAME; head = $0; second = ""; checked++ }
    FNR == 2 { head = head "\n" $0; second = $0; nextfile }
    END { check(); if (checked != ARGC - 1) { print ARGC - 1 - checked " files are empty"; bad = 1 }; exit bad }' $files
