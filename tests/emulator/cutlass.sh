#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cutlass.sh [PATTERN] - GEMMs of CUTLASS, unmodified from PyPI, compiled by nvcc and run in the PTX emulator with all checks.
#
# The result must be right within the bound of cutlass.c and the checks must find nothing. PATTERN (of grep -E) selects
# configurations. All of them make results/emulator/cutlass.txt:
#
#     ctest --preset release -R emulator_cutlass_all -V, or
#     RUNG_SOURCE=. RUNG_BUILD=build/release RUNG_TEST_TOOLS=build/tools tests/emulator/cutlass.sh
set -u
python=$(ls -d "$RUNG_TEST_TOOLS"/python/lib/python3*/site-packages 2> /dev/null | head -n 1)
nvcc=$python/nvidia/cu13/bin/nvcc
cutlass=$python/cutlass_library/source/include
program=$RUNG_BUILD/tests/emulator/test_emulator_cutlass
for file in "$nvcc" "$cutlass/cutlass/cutlass.h" "$program"; do
    [ -e "$file" ] || { echo "cutlass.sh: $file is missing; see tools/install-test-tools" >&2; exit 77; }
done
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
# CUTLASS includes cccl/cuda/std/... for CUDA 13; the package of PyPI has no folder cccl.
ln -s "$python/nvidia/cuda_cccl/include" "$work/cccl"

# CUTLASS's loops with cp.async read shared memory for rows behind the matrix that nobody has written (the sums of these rows
# are dropped). The emulator does not report that for ldmatrix but does for other loads. So m and n are multiples of the block
# tile for the architecture Sm80 or later if the kernel has other loads: Simt, f64 and tf32 that is not contiguous along k.
#
# Target, elements of A and B, of C and D, of the sums; layouts of A and B (t: row-major, n: column-major); CUTLASS's class
# and architecture; block tile, warp tile, instruction; stages, elements per copy, slices of k, operation; m, n, k.
# "sp:" before the elements of A and B: half of A's elements are zeros and are not stored.
configurations="
sm_75 f32  f32  f32 nn Simt         Sm50 128x128x8  32x64 1x1x1    2 1  1 OpMultiplyAdd         200x144x75
sm_75 f32  f32  f32 nt Simt         Sm50 128x64x8   64x32 1x1x1    2 1  1 OpMultiplyAdd         130x70x33
sm_75 f32  f32  f32 tn Simt         Sm50 64x64x8    32x32 1x1x1    2 1  3 OpMultiplyAdd         70x66x130
sm_80 f32  f32  f32 nt Simt         Sm80 128x128x8  32x64 1x1x1    4 1  1 OpMultiplyAdd         128x128x61
sm_86 f32  f32  f32 nn Simt         Sm80 128x64x8   64x32 1x1x1    3 1  1 OpMultiplyAdd         128x64x40
sm_75 f64  f64  f64 nn Simt         Sm50 64x64x8    32x32 1x1x1    2 1  1 OpMultiplyAdd         90x70x33
sm_80 f64  f64  f64 tn Simt         Sm80 64x64x8    32x32 1x1x1    3 1  1 OpMultiplyAdd         128x64x33
sm_75 s8   s32  s32 nt Simt         Sm61 128x128x32 64x64 1x1x4    2 1  1 OpMultiplyAdd         144x140x100
sm_75 s8   s32  s32 tn Simt         Sm61 64x64x32   32x32 1x1x4    2 4  1 OpMultiplyAdd         72x70x100
sm_75 f16  f32  f32 nt TensorOp     Sm70 128x128x32 64x64 8x8x4    2 8  1 OpMultiplyAdd         136x144x72
sm_75 f16  f16  f16 tn TensorOp     Sm70 128x64x32  64x32 8x8x4    2 8  1 OpMultiplyAdd         136x72x40
sm_75 f16  f32  f32 tn TensorOp     Sm75 128x128x32 64x64 16x8x8   2 8  1 OpMultiplyAdd         200x136x104
sm_75 f16  f16  f16 nt TensorOp     Sm75 128x128x32 64x64 16x8x8   2 8  1 OpMultiplyAdd         136x136x40
sm_75 s8   s32  s32 tn TensorOp     Sm75 128x128x64 64x64 8x8x16   2 16 1 OpMultiplyAddSaturate 136x144x160
sm_75 s4   s32  s32 tn TensorOp     Sm75 128x128x128 64x64 8x8x32  2 32 1 OpMultiplyAddSaturate 136x144x288
sm_80 f16  f32  f32 tn TensorOp     Sm80 128x128x32 64x64 16x8x16  3 8  1 OpMultiplyAdd         200x136x168
sm_80 f16  f32  f32 nn TensorOp     Sm80 128x128x32 64x64 16x8x16  4 8  1 OpMultiplyAdd         136x136x200
sm_80 f16  f16  f32 nt TensorOp     Sm80 256x128x32 64x64 16x8x16  3 8  1 OpMultiplyAdd         264x136x104
sm_86 f16  f16  f16 tn TensorOp     Sm80 64x64x32   32x32 16x8x16  4 8  1 OpMultiplyAdd         72x136x40
sm_86 f16  f32  f32 tt TensorOp     Sm80 128x64x64  64x32 16x8x16  3 8  2 OpMultiplyAdd         136x72x264
sm_80 bf16 f32  f32 tn TensorOp     Sm80 128x128x32 64x64 16x8x16  3 8  1 OpMultiplyAdd         136x200x104
sm_86 bf16 bf16 f32 nn TensorOp     Sm80 128x256x32 64x64 16x8x16  3 8  1 OpMultiplyAdd         136x264x72
sm_80 tf32 f32  f32 tn TensorOp     Sm80 128x128x16 64x64 16x8x8   3 4  1 OpMultiplyAdd         140x132x68
sm_86 tf32 f32  f32 nt TensorOp     Sm80 128x64x16  64x32 16x8x8   4 4  1 OpMultiplyAdd         128x64x68
sm_80 f32  f32  f32 tn TensorOp     Sm80 128x64x16  64x32 16x8x8   3 4  1 OpMultiplyAddFastF32  128x64x68
sm_80 s8   s32  s32 tn TensorOp     Sm80 128x128x64 64x64 16x8x32  3 16 1 OpMultiplyAddSaturate 136x144x208
sm_86 u8   s32  s32 tn TensorOp     Sm80 64x128x64  32x64 16x8x32  4 16 1 OpMultiplyAddSaturate 72x144x208
sm_80 s4   s32  s32 tn TensorOp     Sm80 128x128x128 64x64 16x8x64 3 32 1 OpMultiplyAddSaturate 136x144x288
sm_80 sp:f16  f32 f32 tn TensorOp   Sm80 128x128x64 64x64 16x8x32  3 8  1 OpMultiplyAdd         128x128x192
sm_80 sp:bf16 f32 f32 tn TensorOp   Sm80 128x64x64  64x32 16x8x32  3 8  1 OpMultiplyAdd         256x64x192
sm_80 sp:tf32 f32 f32 tn TensorOp   Sm80 128x64x32  64x32 16x8x16  3 4  1 OpMultiplyAdd         128x64x96
sm_80 sp:s8   s32 s32 tn TensorOp   Sm80 128x128x128 64x64 16x8x64 3 16 1 OpMultiplyAddSaturate 128x128x256
sm_80 sp:s4   s32 s32 tn TensorOp   Sm80 128x128x256 64x64 16x8x128 3 32 1 OpMultiplyAddSaturate 128x128x512
sm_80 f64  f64  f64 tn TensorOp     Sm80 64x64x16   32x32 8x8x4    4 1  1 OpMultiplyAdd         64x64x50
sm_80 f64  f64  f64 nt TensorOp     Sm80 128x64x16  32x32 8x8x4    3 1  1 OpMultiplyAdd         128x64x50
sm_90 f64  f64  f64 nt TensorOp     Sm90 64x64x16   32x32 16x8x4   3 1  1 OpMultiplyAdd         64x64x50
sm_89 e4m3 f32  f32 tn TensorOp     Sm89 128x128x64 64x64 16x8x32  3 16 1 OpMultiplyAdd         136x144x96
sm_75 f16  f32  f32 nn WmmaTensorOp Sm70 128x128x32 64x64 16x16x16 2 8  1 OpMultiplyAdd         136x144x72
"

# The C++ name of an element type.
element() {
    case $1 in
    f16) echo cutlass::half_t ;;
    bf16) echo cutlass::bfloat16_t ;;
    tf32) echo cutlass::tfloat32_t ;;
    f32) echo float ;;
    f64) echo double ;;
    s8) echo int8_t ;;
    u8) echo uint8_t ;;
    s4) echo cutlass::int4b_t ;;
    e4m3) echo cutlass::float_e4m3_t ;;
    s32) echo int32_t ;;
    esac
}

layout() { [ "$1" = t ] && echo RowMajor || echo ColumnMajor; }

# Writes the source of one configuration: macros for cutlass_kernel.cu.
source_of() {
    local in=${2#sp:} out=$3 sum=$4 layouts=$5 operator=$6 architecture=$7 block=$8 warp=$9 instruction=${10}
    local vector=4
    [ "$out" = f16 ] || [ "$out" = bf16 ] && vector=8
    [ "$operator" = Simt ] || [ "$out" = f64 ] && vector=1
    echo "#define IN $(element "$in")"
    echo "#define OUT $(element "$out")"
    echo "#define SUM $(element "$sum")"
    echo "#define LAYOUT_A $(layout "${layouts:0:1}")"
    echo "#define LAYOUT_B $(layout "${layouts:1:1}")"
    echo "#define OPERATOR OpClass$operator"
    echo "#define ARCHITECTURE $architecture"
    echo "#define BLOCK GemmShape<${block//x/, }>"
    echo "#define WARP GemmShape<${warp//x/, }, ${block##*x}>"
    echo "#define INSTRUCTION GemmShape<${instruction//x/, }>"
    echo "#define STAGES ${11}"
    echo "#define ALIGNMENT ${12}"
    echo "#define STORED $vector"
    echo "#define SPLIT ${13}"
    echo "#define MULTIPLY ${14}"
    [ "$in" = "$2" ] && echo "#define GEMM Gemm" || echo "#define GEMM SparseGemm"
    echo '#include "cutlass_kernel.cu"'
}

# Compiles and runs one configuration and prints its row.
run() {
    local name="$1 $7 $2 $3 $4 $5 $6 ${14#OpMultiply} $8 $9 ${10} ${11} ${13}" base=$work/kernel size=${15}
    source_of "$@" > "$base.cu"
    "$nvcc" -ptx -arch="$1" -lineinfo -std=c++17 -w -I"$cutlass" -I"$RUNG_SOURCE/tests/emulator" \
        -I"$work" -I"$python/nvidia/cuda_cccl/include" "$base.cu" -o "$base.ptx" > "$base.log" 2>&1 ||
        { echo "$name: nvcc fails"; head -n 5 "$base.log"; return 1; }
    "$program" "$name" "$base.ptx" "$2" "$3" "$4" ${size//x/ } "${13}"
}

printf '%-80s %8s %14s %8s %6s %9s\n' "target tag in out sum layouts class operation block warp instruction stages split" seconds \
    "warp instr." elements wrong findings
failed=0 number=0
while read -r line; do
    number=$((number + 1))
    run $line || failed=$((failed + 1))
done < <(grep . <<< "$configurations" | grep -E "${1:-.}")
echo "$number configurations, $failed wrong"
[ $number -gt 0 ] && [ $failed -eq 0 ]
