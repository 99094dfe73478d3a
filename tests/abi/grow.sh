#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the librung of a later version and runs the programs of earlier versions with it. The later version has one more
# field in every struct but rung_matrix, one more enumerator in every enum, and one more element type. Its field of
# rung_problem changes the result if it is not 0, so that a library which reads beyond an old struct is found.
set -eu
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
cd "$RUNG_SOURCE"
cp -r CMakeLists.txt cmake include machines src "$work/source"
header=$work/source/include/rung/rung.h
perl -0pi -e '
    s/^\} (rung_(?!matrix;)\w+);/    int64_t later_field;\n} $1;/mg;
    s/(typedef enum (rung_\w+) \{.*?[^,\s]) *(\/\*[^\n]*\*\/)?\n(?=(?:    int64_t later_field;\n)?\} \2;)/$1, $3\n    \U$2\E_LATER = 99\n/gs;
    s/    int64_t later_field;\n(?=\} rung_(status|type|order|compute|activation|engine|origin);)//g;
    s/RUNG_TYPE_LATER = 99/RUNG_TYPE_LATER = 16/' "$header"
fields=$(grep -c later_field "$header") enumerators=$(grep -c _LATER "$header")
[ "$fields" -ge 15 ] && [ "$enumerators" -ge 6 ] || { echo "only $fields fields and $enumerators enumerators were added"; exit 1; }
sed -i 's/RUNG_Q4_0 + 1/RUNG_TYPE_LATER + 1/' "$work/source/src/core/enum_counts.h"
sed -i 's/\[RUNG_Q4_0\] = "q4_0"/&, [RUNG_TYPE_LATER] = "later"/' "$work/source/src/core/type_names.c"
sed -i 's/^    TRY(check_views(problem));/    if (problem->later_field != 0)\n        return rungi_fail(RUNG_STATUS_INVALID, "later_field is not 0");\n&/' \
    "$work/source/src/core/problem.c"
grep -q RUNG_TYPE_LATER "$work/source/src/core/enum_counts.h" && grep -q RUNG_TYPE_LATER "$work/source/src/core/type_names.c" &&
    grep -q 'later_field' "$work/source/src/core/problem.c" || { echo "the sources have changed: adapt this script"; exit 1; }
# Of the kernels of the ladder the variants for F32 without vector instructions, and others with little optimization: they
# would take most of the time.
sed -i 's/^set(cpu_types .*/set(cpu_types F32)/; s/list(APPEND cpu_isas .*)/# none/' "$work/source/cmake/cpu_kernels.cmake"
sed -i '/tile_options .*CONFIG:Debug/s/-O2/-O1/' "$work/source/CMakeLists.txt"
cmake -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DRUNG_CUDA=OFF -DRUNG_OPENCL=OFF -DRUNG_BLAS=OFF \
      -DRUNG_OUTOFCORE=OFF -DRUNG_CLUSTER=OFF -DRUNG_EMULATOR=OFF -DRUNG_LAB=OFF -DRUNG_TESTS=OFF -DRUNG_EXAMPLES=OFF > "$work/log"
cmake --build "$work/build" -j 2 --target rung_library > "$work/log" 2>&1 || { tail -30 "$work/log"; exit 1; }
bash "$RUNG_SOURCE/tests/abi/client.sh" "$work/build"
echo "with $fields fields and $enumerators enumerators more"
