#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A library to compare with loses a function between its search and its use, as when dlsym has no memory: no crash. Each library call of
# a run with a fake OpenBLAS and a fake MKL fails once.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# write_state N: the state of fault_calls.h, in which the N-th call of the class of libraries fails.
write_state() {
    { head -c 8 /dev/zero; printf "\\x$(printf %02x "$1")"; head -c 11 /dev/zero; printf '\x10\0\0\0\x01\0\0\0'; head -c 2060 /dev/zero; } > "$work/state"
}

count=0
for library in openblas mkl; do
    for n in $(seq 1 60); do
        write_state "$n"
        RUNG_CPU_VENDOR=$RUNG_BUILD/tests/cpu/peers/libfake_blas_$library.so RUNG_FAULTS=$work/state \
            LD_PRELOAD=$RUNG_BUILD/tests/faults/libfault_calls.so \
            "$RUNG" verify --device cpu --kernels 00 --m 3 --threads 1 > "$work/out" 2>&1
        code=$?
        [ $code -lt 128 ] || { echo "$library, call $n: exit code $code"; exit 1; }
        [ $code -eq 0 ] || count=$((count + 1))
    done
done
[ $count -ge 4 ] || { echo "only $count library calls failed"; exit 1; }
