/* SPDX-License-Identifier: Apache-2.0 */
/* wmma.h - the matrix engine as PTX first showed it: wmma, whose fragments are closed boxes.
 *
 *   fragment_t, sums_t    16 x WK of A or of B, and 16 x 16 of C, spread over a warp
 *   wmma_load(...)        a fragment from shared memory: rows of A, or columns of B, each
 *                         `ld` elements behind the other, elements of k side by side
 *   wmma_mma(...)         sums += A B
 *   wmma_store(...)       the sums as rows in shared memory
 *
 * Which lane has which element is not told and differs between architectures. Each row
 * begins at a multiple of what a lane holds, 32 bytes of F16, 16 or 8 of others. WK is 16,
 * of FP32, which is taken as TF32, 8. In software (see engine.h) the layout is one that no
 * machine has, so that nothing can lean on it.
 */
#ifndef RUNG_WMMA_H
#define RUNG_WMMA_H

#define WK (IN_BYTES == 4 ? 8 : 16)

#ifdef __OPENCL_C_VERSION__

#define FRAGMENT_WORDS (WK / 2)

/* A word an element: the bits of a float, or a whole number. */
typedef struct {
    uint words[FRAGMENT_WORDS];
} fragment_t;

typedef struct {
    sum_t values[8];
} sums_t;

/* Lane l has elements l, l + 32, l + 64, ... of 16 rows, one behind the other. */
DEVICE void wmma_load(fragment_t *fragment, SHARED const in_t *tile, uint ld, int is_b)
{
    for (uint i = 0; i < FRAGMENT_WORDS; i++) {
        const uint element = threadIdx.x % 32 + 32 * i;
        const sum_t value = widen(tile[element / WK * ld + element % WK]);
#if defined(WHOLE)
        fragment->words[i] = value;
#elif AS_TF32
        fragment->words[i] = tf32_of(float_bits(value));
#else
        fragment->words[i] = float_bits(value);
#endif
    }
}

DEVICE sum_t wmma_value(uint word)
{
#if defined(WHOLE)
    return word;
#else
    return as_float(word);
#endif
}

DEVICE void wmma_mma(engine_t engine, sums_t *sums, const fragment_t *a, const fragment_t *b)
{
    GLOBAL uint *words = engine.words;
    for (uint i = 0; i < FRAGMENT_WORDS; i++) {
        words[engine.lane + 32 * i] = a->words[i];
        words[16 * WK + engine.lane + 32 * i] = b->words[i];
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint i = 0; i < 8; i++) {
        const uint element = engine.lane + 32 * i;
        for (uint k = 0; k < WK; k++)
            sums->values[i] += wmma_value(words[element / 16 * WK + k]) *
                               wmma_value(words[16 * WK + element % 16 * WK + k]);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
}

DEVICE void wmma_store(SHARED sum_t *to, const sums_t *sums, uint ld)
{
    for (uint i = 0; i < 8; i++) {
        const uint element = threadIdx.x % 32 + 32 * i;
        to[element / 16 * ld + element % 16] = sums->values[i];
    }
}

#else /* CUDA */

#if defined(WHOLE)
#define SUMS(mode, s)                                                                           \
    mode "r"((s)[0]), mode "r"((s)[1]), mode "r"((s)[2]), mode "r"((s)[3]), mode "r"((s)[4]),   \
        mode "r"((s)[5]), mode "r"((s)[6]), mode "r"((s)[7])
#else
#define SUMS(mode, s)                                                                           \
    mode "f"((s)[0]), mode "f"((s)[1]), mode "f"((s)[2]), mode "f"((s)[3]), mode "f"((s)[4]),   \
        mode "f"((s)[5]), mode "f"((s)[6]), mode "f"((s)[7])
#endif
#define SUM_REGISTERS "{%0, %1, %2, %3, %4, %5, %6, %7}"

/* What the instruction calls its types, and the registers that a fragment has. */
#if defined(IN_F16)
#define FRAGMENT_WORDS 8
#define LOADED "m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
#define WORDS(mode, w)                                                                          \
    mode "r"((w)[0]), mode "r"((w)[1]), mode "r"((w)[2]), mode "r"((w)[3]), mode "r"((w)[4]),   \
        mode "r"((w)[5]), mode "r"((w)[6]), mode "r"((w)[7])
#define MULTIPLIED                                                                              \
    "m16n16k16.f32.f32 " SUM_REGISTERS ", {%8, %9, %10, %11, %12, %13, %14, %15}, "             \
    "{%16, %17, %18, %19, %20, %21, %22, %23}, " SUM_REGISTERS ";"
#define STORED "m16n16k16.shared.f32 "
#elif defined(IN_I8)
#define FRAGMENT_WORDS 2
#define LOADED "m16n16k16.shared.s8 {%0, %1}, [%2], %3;"
#define WORDS(mode, w) mode "r"((w)[0]), mode "r"((w)[1])
#define MULTIPLIED                                                                              \
    "m16n16k16.s32.s8.s8.s32 " SUM_REGISTERS ", {%8, %9}, {%10, %11}, " SUM_REGISTERS ";"
#define STORED "m16n16k16.shared.s32 "
#else
#define FRAGMENT_WORDS 4
#define WORDS(mode, w) mode "r"((w)[0]), mode "r"((w)[1]), mode "r"((w)[2]), mode "r"((w)[3])
#define FOUR_AND_FOUR "{%8, %9, %10, %11}, {%12, %13, %14, %15}, "
#if defined(IN_BF16)
#define LOADED "m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
#define MULTIPLIED                                                                              \
    "m16n16k16.f32.bf16.bf16.f32 " SUM_REGISTERS ", " FOUR_AND_FOUR SUM_REGISTERS ";"
#define STORED "m16n16k16.shared.f32 "
#else
#define LOADED "m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], %5;"
#define MULTIPLIED                                                                              \
    "m16n16k8.f32.tf32.tf32.f32 " SUM_REGISTERS ", " FOUR_AND_FOUR SUM_REGISTERS ";"
#define STORED "m16n16k8.shared.f32 "
#endif
#endif

/* The host launches nothing on an architecture whose engine has not got the type. */
#if defined(IN_F16)
#define HAS_WMMA (__CUDA_ARCH__ >= 700)
#elif defined(IN_I8)
#define HAS_WMMA (__CUDA_ARCH__ >= 750)
#else
#define HAS_WMMA (__CUDA_ARCH__ >= 800)
#endif

typedef struct {
    uint words[FRAGMENT_WORDS];
} fragment_t;

typedef struct {
    sum_t values[8];
} sums_t;

DEVICE void wmma_load(fragment_t *fragment, const in_t *tile, uint ld, int is_b)
{
#if HAS_WMMA
    const uint at = (uint)__cvta_generic_to_shared(tile);
    if (is_b)
        asm volatile("wmma.load.b.sync.aligned.col." LOADED
                     : WORDS("=", fragment->words) : "r"(at), "r"(ld) : "memory");
    else
        asm volatile("wmma.load.a.sync.aligned.row." LOADED
                     : WORDS("=", fragment->words) : "r"(at), "r"(ld) : "memory");
#if AS_TF32
#pragma unroll
    for (uint i = 0; i < FRAGMENT_WORDS; i++)
        fragment->words[i] = tf32_of(fragment->words[i]);
#endif
#endif
}

DEVICE void wmma_mma(engine_t engine, sums_t *sums, const fragment_t *a, const fragment_t *b)
{
#if HAS_WMMA
    asm volatile("wmma.mma.sync.aligned.row.col." MULTIPLIED
                 : SUMS("+", sums->values) : WORDS("", a->words), WORDS("", b->words));
#else
    asm volatile("trap;");
#endif
}

DEVICE void wmma_store(sum_t *to, const sums_t *sums, uint ld)
{
#if HAS_WMMA
    asm volatile("wmma.store.d.sync.aligned.row." STORED "[%8], " SUM_REGISTERS ", %9;" ::
                 SUMS("", sums->values), "r"((uint)__cvta_generic_to_shared(to)), "r"(ld)
                 : "memory");
#endif
}

#endif

#endif /* RUNG_WMMA_H */
