#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library links libc, libm, pthreads and the loader alone, shows the names of
# rung.h and no others, carries its SONAME, stays when it is closed, and with all compiled kernels is
# below 15 MB. So do librung-outofcore, librung-cluster, librung-emulator and librung-weights, with the names of their headers. The drop-in links the library besides, shows the names of its list and no others, and those without a
# version, so that a program takes them whatever version it was linked with.
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
readelf -d "$library" | grep -q 'SONAME.*librung\.so\.0\]' || { echo "no SONAME"; exit 1; }
readelf -d "$library" | grep -q 'FLAGS_1.*NODELETE' || { echo "it could be unloaded under its threads"; exit 1; }
bytes=$(size "$library" | awk 'NR == 2 {print $4}') # what is loaded; what a debugger reads besides does not count
[ "$bytes" -lt 15000000 ] || { echo "it has 15 MB or more"; exit 1; }
echo "$(wc -w <<< "$shown") names, $bytes bytes"

# shows LIBRARY MOST-NEEDED NAMES: the library links nothing beside these, shows these names and no others, and has its SONAME.
shows() {
    local library=$RUNG_BUILD/lib$1.so others shown
    [ -e "$library" ] || return 0
    others=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE "^($2|lib(c|m|pthread)\.so\.[0-9]+|ld-linux.*)$")
    [ -z "$others" ] || { echo "lib$1 links $others"; exit 1; }
    shown=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sed 's/@.*//' | sort)
    [ "$(wc -w <<< "$3")" -ge 2 ] || { echo "the header of lib$1 declares no names"; exit 1; }
    [ "$shown" = "$3" ] || { diff <(echo "$3") <(echo "$shown"); echo "lib$1 and its header have different names"; exit 1; }
    readelf -d "$library" | grep -q "SONAME.*lib$1\.so\.0\]" || { echo "lib$1 has no SONAME"; exit 1; }
    echo "lib$1: $(wc -w <<< "$shown") names"
}
# declared_in FILE: the functions that a header's text declares for a library.
declared_in() {
    sed -n '/RUNG_API/,/;/p' "$1" | grep -oE '\brung_[a-z0-9_]+\(' | tr -d '(' | sort -u
}
shows rung-outofcore 'librung\.so\.0' "$(declared_in "$RUNG_SOURCE/include/rung/outofcore.h")"
shows rung-emulator 'librung\.so\.0' "$(declared_in "$RUNG_SOURCE/include/rung/emulator.h")"
shows rung-weights 'librung\.so\.0' "$(declared_in "$RUNG_SOURCE/include/rung/weights.h")"
# cluster.h has two parts: the second is declared only with MPI.
header=$RUNG_SOURCE/include/rung/cluster.h
shows rung-cluster 'librung\.so\.0' "$(declared_in <(sed '/defined(MPI_VERSION)/,$d' "$header"))"
shows rung-cluster-mpi 'librung(-cluster)?\.so\.0|libmpi.*' "$(declared_in <(sed -n '/defined(MPI_VERSION)/,$p' "$header"))"
# Names are looked up when a library is loaded, and what that wrote is read-only from then on.
for library in "$RUNG_BUILD"/librung.so "$RUNG_BUILD"/librung-blas.so "$RUNG_BUILD"/librung-{outofcore,cluster,cluster-mpi,emulator,weights}.so; do
    [ -e "$library" ] || continue
    readelf -d "$library" | grep -qE 'FLAGS_1.*\bNOW\b' || { echo "$library is not bound when it is loaded (-z now)"; exit 1; }
    readelf -lW "$library" | grep -q GNU_RELRO || { echo "$library has no read-only relocations (-z relro)"; exit 1; }
done
for library in "$RUNG_BUILD"/librung.so "$RUNG_BUILD"/librung-{outofcore,cluster,emulator,weights}.so "$RUNG_BUILD/rung"; do
    ! ldd "$library" | grep -E 'libmpi|libmpich' || { echo "$library links MPI"; exit 1; }
done

library=$RUNG_BUILD/librung-blas.so
[ -e "$library" ] || exit 0
others=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
         grep -vE '^(librung\.so\.0|lib(c|pthread|dl)\.so\.[0-9]+|ld-linux.*)$')
[ -z "$others" ] || { echo "the drop-in links $others"; exit 1; }
shown=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
# Beside the names of its list, the one that a copy of it is known by.
listed=$({ sed -nE 's/^(FORTRAN|CBLAS)\([a-z]+, +([a-z0-9_]+),.*/\2/p' "$RUNG_SOURCE/src/blas/blas_symbols.def"
           echo rung_blas_library; } | sort)
[ "$(wc -w <<< "$listed")" -ge 20 ] || { echo "where are the names?"; exit 1; }
[ "$shown" = "$listed" ] || { diff <(echo "$listed") <(echo "$shown"); exit 1; } # a version would follow as @...
readelf -V "$library" | grep -q 'Version definition section' && { echo "its names have versions"; exit 1; }
readelf -d "$library" | grep -q 'SONAME.*librung-blas\.so\.0\]' || { echo "no SONAME"; exit 1; }
for name in sgemm_ dgemm_ cblas_sgemm cblas_dgemm sgemm_64_ cblas_sgemm64_ scipy_cblas_sgemm64_ scipy_sgemm_; do
    grep -qx "$name" <<< "$shown" || { echo "$name is not there"; exit 1; }
done
echo "the drop-in: $(wc -w <<< "$shown") names"
