#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence in one of its first two lines, and every C
# file and kernel then says why it exists.
set -u
cd "$RUNG_SOURCE" || exit 1
bad=0 seen=0
files=$(find src include lab tasks tests tools cmake packaging .ci CMakeLists.txt -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' -o -name '*.cmake' -o -name 'CMakeLists.txt' \
           -o -perm -u+x \) | sort)
for file in $files; do
    seen=$((seen + 1))
    case $file in tests/abi/*/client-*) continue ;; esac # compiled from the client.c beside it
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
        { echo "$file: no SPDX line"; bad=1; }
    case $file in *.[ch] | *.cu)
        sed -n 2p "$file" | grep -qF "/* $(basename "$file" | sed 's/\.[a-z]*$//')" ||
            { echo "$file: its second line does not name it and say why it exists"; bad=1; } ;;
    esac
done
[ $seen -gt 40 ] || { echo "only $seen files seen"; bad=1; }
exit $bad
