#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Completion, asked as bash asks.
. "$(dirname "$0")/terminal.sh"
"$RUNG" help --completion > rung.bash || fail "exit $?"
[ ! -e "$RUNG_BUILD/completion/rung" ] || cmp rung.bash "$RUNG_BUILD/completion/rung" || fail "the build's is another"
bash -n rung.bash || fail "it is no script"
. ./rung.bash
complete -p rung | grep -q -- '-F _rung rung' || fail "it is not bound"

# gives "EXPECTED WORDS" WORD...: what may follow these, of which the last is under way
gives() {
    local expected=$1 found
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=(left over)
    _rung
    found=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
    [ "${found% }" = "$expected" ] || fail "rung ${*:2}: ${found% } instead of $expected"
}
touch kernel.cu kernel_two.cu "with space.cu"
mkdir folder
gives "bench" rung be
gives "devices doctor" rung d
gives "--help --version" rung --
gives "--params" rung bench --par
gives "--budget" rung tune --bu
gives "" rung devices --sizes
gives "opencl" rung bench --device o
gives "cpu cuda opencl" rung bench --device ""
gives "cuda" rung bench --device = cu
gives "cpu cuda opencl" rung bench --device =
gives "07_tile2d" rung bench --kernels 07
gives "01,07_tile2d" rung bench --kernels 01,07
gives "f16 f16*f4e2m1 f16*f4e2m1:f32 f16*f8e4m3 f16*f8e4m3:f32 f16*f8e5m2 f16*f8e5m2:f32 f16*i4 f16*i4:f32 f16*i8 f16*i8:f32 f16*q4_0 f16*q4_0:f32 f16*q8_0 f16*q8_0:f32 f16*u4 f16*u4:f32 f16*u8 f16*u8:f32 f16:f32" rung verify --dtype f16
gives "i8,bf16x1 i8,bf16x3" rung verify --dtype i8,bf16x
gives "tf32 tf32x3" rung verify --compute t
gives "scattered" rung verify --suite sc
gives "cc cr" rung tune --layout c
gives "cyclic" rung bench --layout c
gives "always auto" rung bench --color a
gives "sm_60 sm_61" rung explain --arch sm_6
gives "rtx3090" rung explain --machine rtx309
gives "kernel.cu kernel_two.cu" rung plan --machine k
gives "kernel.cu kernel_two.cu" rung verify kern
gives "with space.cu" rung verify "with"
gives "kernel.cu kernel_two.cu" rung bench --output k
gives "kernel.cu kernel_two.cu" rung bench -o k
gives "folder" rung verify -I f
gives "folder" rung check --include-path f
gives "folder" rung report --charts f
gives "" rung verify -D k
gives "" rung bench --sizes k
gives "04_shared" rung kernels 04
gives "bench" rung help be
exit 0
