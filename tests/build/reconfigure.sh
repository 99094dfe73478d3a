#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Optional parts that could not be built are built by the same cmake command once what they need is installed: here
# the memory access counters, first without a C++ compiler. 77 without Oclgrind's and LLVM's headers.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
configure() {
    timeout 200 cmake -S "$RUNG_SOURCE" -B "$work/build" -DRUNG_TESTS=OFF -DRUNG_IMAGES=OFF "$@" > "$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
}
has_counters() { cmake --build "$work/build" --target help 2> /dev/null | grep rung_microscope > /dev/null; }

CXX=$work/none/c++ configure
has_counters && { echo "wrong: the counters are built without a C++ compiler"; exit 1; }
grep -qi "memory access counters are not built" "$work/log" || { echo "wrong: nothing is said:"; cat "$work/log"; exit 1; }
(unset CXX && configure)
grep -q "^OCLGRIND_INCLUDE:.*NOTFOUND\|^OCLGRIND_LLVM_INCLUDE:.*NOTFOUND" "$work/build/CMakeCache.txt" && exit 77
grep -q "^OCLGRIND_LLVM_INCLUDE:" "$work/build/CMakeCache.txt" || exit 77
has_counters || { echo "wrong: with a C++ compiler the counters are still not built:"; cat "$work/log"
    grep "^CMAKE_CXX_COMPILER:" "$work/build/CMakeCache.txt"; exit 1; }
