/* SPDX-License-Identifier: Apache-2.0 */
/* scaled_mma.h - instructions of NVIDIA's matrix engines for two quantized matrices, for 17_block_scaled.
 *
 *   mma_pair(...)     adds the products of a 16 x 8 tile and 32 bytes of k, without scales
 *   mma_scaled(...)   the same, with the scales of blocks along k (ENGINE_SCALES)
 *
 * A is FP8 or FP4, and so is B. The host defines A_TYPE and, if A has scales, A_SCALE_TYPE, A_BLOCK_ROWS and
 * A_BLOCK_COLS, as it does for B (see quantized.h). A_UNITS and B_UNITS are 1 if A or B can be copied in 16-byte chunks
 * along k. Fragments are those of mma.h: the positions of bytes are the same for all types.
 *
 * An element takes SLOT_BITS bits in shared memory and in registers: 4 if both matrices are FP4, else 8. An FP4 that is
 * multiplied by FP8 is in bits 2 to 5 of its byte.
 *
 * ENGINE_SCALES is 1 if the engine multiplies by the scales itself: on sm_120, if both matrices have scales of E8M0 for
 * blocks of 32, or both are FP4 with scales of E4M3 for blocks of 16. GRAIN is the number of steps of k per scale.
 */
#ifndef RUNG_SCALED_MMA_H
#define RUNG_SCALED_MMA_H

#ifndef A_TYPE
#define A_TYPE TYPE_F8E4M3
#endif
#ifndef A_SCALE_TYPE
#define A_SCALE_TYPE TYPE_NONE
#endif
#ifndef A_BLOCK_ROWS
#define A_BLOCK_ROWS 0
#endif
#ifndef A_BLOCK_COLS
#define A_BLOCK_COLS 0
#endif
#ifndef A_UNITS
#define A_UNITS 0
#endif

#define SLOT_BITS (A_TYPE == TYPE_F4E2M1 && B_TYPE == TYPE_F4E2M1 ? 4 : 8)

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200 && A_SCALE_TYPE == TYPE_E8M0 && SCALE_TYPE == TYPE_E8M0
#define ENGINE_SCALES 1
#define GRAIN 32
#elif A_TYPE == TYPE_F4E2M1 && B_TYPE == TYPE_F4E2M1
#define ENGINE_SCALES 1
#define GRAIN 16
#else
#define ENGINE_SCALES 0
#define GRAIN 32
#endif

#if A_TYPE == TYPE_F8E5M2
#define A_WORD "e5m2"
#elif A_TYPE == TYPE_F4E2M1
#define A_WORD "e2m1"
#else
#define A_WORD "e4m3"
#endif
#if B_TYPE == TYPE_F8E5M2
#define B_WORD "e5m2"
#elif B_TYPE == TYPE_F4E2M1
#define B_WORD "e2m1"
#else
#define B_WORD "e4m3"
#endif

#if ENGINE_SCALES

/* The instruction, and the scales per row of A and column of B that one instruction takes. */
#if SLOT_BITS == 8
#define SCALED_WORDS                                                                                           \
    "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32." A_WORD "." B_WORD ".f32.ue8m0"
#define STEP_SCALES 1
#elif GRAIN == 32
#define SCALED_WORDS "kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0"
#define STEP_SCALES 2
#else
#define SCALED_WORDS "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3"
#define STEP_SCALES 4
#endif

/* `a_scales` has the scales of row g in lane 4 g, and those of row g + 8 in lane 4 g + 1. `b_scales` has those of column g in
 * lane 4 g. The first scale is byte `byte` of the word. */
DEVICE void mma_scaled(sum_t *sum, const uint *a, const uint *b, uint a_scales, uint b_scales, uint byte)
{
    asm volatile("mma.sync.aligned." SCALED_WORDS " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, "
                 "{%10}, {%12, %13}, {%11}, {%12, %13};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales),
                   "h"((ushort)byte), "h"((ushort)0));
}

#elif ARCH >= 90 && ARCH < 120

/* mma.sync has no FP8 there (see mma.h). Half of a step, 16 bytes of k, is one instruction of F16. */
#define PAIR_OF(word) "cvt.rn.f16x2." word "x2 "
#define WIDEN_FP8(word, low, high, bits)                                                                        \
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; " PAIR_OF(word) "%0, low; " PAIR_OF(word) "%1, high; }" \
        : "=r"(low), "=r"(high)                                                                                 \
        : "r"(bits))

DEVICE void mma_pair(sum_t *sum, const uint *a, const uint *b)
{
#pragma unroll
    for (uint half = 0; half < 2; half++) {
        uint a_pairs[4], b_pairs[2];
        WIDEN_FP8(A_WORD, a_pairs[0], a_pairs[2], a[2 * half]);
        WIDEN_FP8(A_WORD, a_pairs[1], a_pairs[3], a[2 * half + 1]);
        WIDEN_FP8(B_WORD, b_pairs[0], b_pairs[1], b[half]);
        MMA_16X8("m16n8k16.row.col.f32.f16.f16.f32", "f", sum, a_pairs, b_pairs[0], b_pairs[1]);
    }
}

#else

DEVICE void mma_pair(sum_t *sum, const uint *a, const uint *b)
{
#if ARCH >= 89
    MMA_16X8("m16n8k32.row.col.f32." A_WORD "." B_WORD ".f32", "f", sum, a, b[0], b[1]);
#else
    asm volatile("trap;"); /* the host never launches such a kernel */
#endif
}

#endif

#endif /* RUNG_SCALED_MMA_H */
