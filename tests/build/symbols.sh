#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library links libc, libm, pthreads and the loader alone, shows the names of
# rung.h and no others, carries its SONAME, stays when it is closed, and with all compiled kernels is
# below 15 MB.
set -u
library=$RUNG_BUILD/librung.so
ldd "$library"
others=$(ldd "$library" | awk '{print $1}' |
         grep -vE '^(linux-vdso\.so|lib(c|m|pthread|dl)\.so|.*/ld-linux|/lib.*/ld-)' )
[ -z "$others" ] || { echo "it links $others"; exit 1; }

shown=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sed 's/@.*//' | sort)
declared=$(grep -oE '\brung_[a-z0-9_]+\(' "$RUNG_SOURCE/include/rung/rung.h" | tr -d '(' | sort -u)
for name in $shown; do
    grep -qx "$name" <<< "$declared" || { echo "$name is shown and not declared"; exit 1; }
done
api=$(sed -n '/RUNG_API/,/;/p' "$RUNG_SOURCE/include/rung/rung.h" | grep -oE '\brung_[a-z0-9_]+\(' |
      tr -d '(' | sort -u)
for name in $api; do
    grep -qx "$name" <<< "$shown" || { echo "$name is declared and not there"; exit 1; }
done
readelf -d "$library" | grep -q 'SONAME.*librung\.so\.0\.1' || { echo "no SONAME"; exit 1; }
readelf -d "$library" | grep -q 'FLAGS_1.*NODELETE' || { echo "it could be unloaded under its threads"; exit 1; }
[ "$(stat -L -c %s "$library")" -lt 15000000 ] || { echo "it has 15 MB or more"; exit 1; }
echo "$(wc -w <<< "$shown") names, $(stat -L -c %s "$library") bytes"
