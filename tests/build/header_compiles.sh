#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, with warnings as errors: as C99, C11 and C2x by GCC and Clang, and as C++11 and
# C++20 by their C++ compilers.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/public_headers.sh"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Werror"
for compiler in gcc clang g++ clang++; do
    command -v $compiler > /dev/null || { echo "$compiler is not installed: run tools/install-test-tools"; exit 77; }
done

# compile COMPILER LANGUAGE STANDARD OPTION... - compiles each header as the only one of a file.
compiled=0
compile() {
    local compiler=$1 language=$2 standard=$3 header
    shift 3
    for header in $headers ${mpi_header:+with_mpi}; do
        echo "#include <$header>" > "$work/alone.c"
        [ "$header" != with_mpi ] || printf '#include <mpi.h>\n#include <rung/cluster.h>\n' > "$work/alone.c"
        $compiler -x "$language" -std="$standard" $warnings "$@" $header_flags -fsyntax-only "$work/alone.c" ||
            { echo "$compiler -std=$standard rejects $header"; exit 1; }
        compiled=$((compiled + 1))
    done
}
for standard in c99 c11 c2x; do
    compile gcc c $standard -Wstrict-prototypes
    compile clang c $standard -Wstrict-prototypes
done
for standard in c++11 c++20; do
    compile g++ c++ $standard
    compile clang++ c++ $standard
done
echo "$compiled compilations of $headers"
