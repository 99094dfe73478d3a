/* SPDX-License-Identifier: Apache-2.0 */
/* wmma.h - the wmma instructions of PTX, the first interface to matrix engines, and an emulation
 * in software for devices without an engine. Used by 11_wmma.
 *
 *   fragment_t, sums_t    16 x WK of A or of B, and 16 x 16 of C, spread over a warp
 *   wmma_load(...)        loads a fragment from shared memory: 16 rows of A, or WK rows of B,
 *                         `ld` elements apart
 *   wmma_mma(...)         sums += A B
 *   wmma_store(...)       stores the sums to shared memory, row by row
 *
 * The mapping of elements to lanes is opaque and differs between architectures. Each row must
 * start at a multiple of 16 bytes (INT8: 8 bytes), and the first row of F16 at one of 32 bytes.
 * That is the rule of CUDA C++ for F16. The rule of PTX is 32 bytes for every row of F16; but rows
 * that are multiples of 32 bytes apart always have bank conflicts, and the instructions that the
 * compilers generate access at most 16 bytes.
 *
 * WK is 16, or 8 for FP32, which is multiplied as TF32. The emulation (see engine.h) uses a
 * mapping that no GPU has, so that no code can depend on it.
 */
#ifndef RUNG_WMMA_H
#define RUNG_WMMA_H

#define WK (IN_BYTES == 4 ? 8 : 16)

#ifdef __OPENCL_C_VERSION__

#define FRAGMENT_WORDS (WK / 2)

/* One word per element: the bits of a float, or an integer. */
typedef struct {
    uint words[FRAGMENT_WORDS];
} fragment_t;

typedef struct {
    sum_t values[8];
} sums_t;

/* Gives lane i the elements i, i + 32, i + 64, ... of the fragment in row order. */
DEVICE void wmma_load(fragment_t *fragment, SHARED const in_t *tile, uint ld, int is_b)
{
    const uint row_length = is_b ? 16 : WK;
    for (uint i = 0; i < FRAGMENT_WORDS; i++) {
        const uint element = threadIdx.x % 32 + 32 * i;
        const sum_t value = widen(tile[element / row_length * ld + element % row_length]);
#if defined(INTEGER_TYPE)
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
#if defined(INTEGER_TYPE)
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
                               wmma_value(words[16 * WK + k * 16 + element % 16]);
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

#if defined(INTEGER_TYPE)
#define WMMA_SUM_OPERANDS(mode, s)                                                              \
    mode "r"((s)[0]), mode "r"((s)[1]), mode "r"((s)[2]), mode "r"((s)[3]), mode "r"((s)[4]),   \
        mode "r"((s)[5]), mode "r"((s)[6]), mode "r"((s)[7])
#else
#define WMMA_SUM_OPERANDS(mode, s)                                                              \
    mode "f"((s)[0]), mode "f"((s)[1]), mode "f"((s)[2]), mode "f"((s)[3]), mode "f"((s)[4]),   \
        mode "f"((s)[5]), mode "f"((s)[6]), mode "f"((s)[7])
#endif
#define SUM_REGISTERS "{%0, %1, %2, %3, %4, %5, %6, %7}"

/* The names of the types in the instructions, and the number of registers per fragment. */
#if defined(IN_F16)
#define FRAGMENT_WORDS 8
#define WMMA_LOAD_ASM "m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
#define WMMA_FRAGMENT_OPERANDS(mode, w)                                                         \
    mode "r"((w)[0]), mode "r"((w)[1]), mode "r"((w)[2]), mode "r"((w)[3]), mode "r"((w)[4]),   \
        mode "r"((w)[5]), mode "r"((w)[6]), mode "r"((w)[7])
#define WMMA_MMA_ASM                                                                \
    "m16n16k16.f32.f32 " SUM_REGISTERS ", {%8, %9, %10, %11, %12, %13, %14, %15}, " \
    "{%16, %17, %18, %19, %20, %21, %22, %23}, " SUM_REGISTERS ";"
#define WMMA_STORE_ASM "m16n16k16.shared.f32 "
#elif defined(IN_I8)
#define FRAGMENT_WORDS 2
#define WMMA_LOAD_ASM "m16n16k16.shared.s8 {%0, %1}, [%2], %3;"
#define WMMA_FRAGMENT_OPERANDS(mode, w) mode "r"((w)[0]), mode "r"((w)[1])
#define WMMA_MMA_ASM                                                                              \
    "m16n16k16.s32.s8.s8.s32 " SUM_REGISTERS ", {%8, %9}, {%10, %11}, " SUM_REGISTERS ";"
#define WMMA_STORE_ASM "m16n16k16.shared.s32 "
#else
#define FRAGMENT_WORDS 4
#define WMMA_FRAGMENT_OPERANDS(mode, w) mode "r"((w)[0]), mode "r"((w)[1]), mode "r"((w)[2]), mode "r"((w)[3])
#define WMMA_AB_REGISTERS "{%8, %9, %10, %11}, {%12, %13, %14, %15}, "
#if defined(IN_BF16)
#define WMMA_LOAD_ASM "m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
#define WMMA_MMA_ASM                                                                              \
    "m16n16k16.f32.bf16.bf16.f32 " SUM_REGISTERS ", " WMMA_AB_REGISTERS SUM_REGISTERS ";"
#define WMMA_STORE_ASM "m16n16k16.shared.f32 "
#else
#define WMMA_LOAD_ASM "m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], %5;"
#define WMMA_MMA_ASM                                                                              \
    "m16n16k8.f32.tf32.tf32.f32 " SUM_REGISTERS ", " WMMA_AB_REGISTERS SUM_REGISTERS ";"
#define WMMA_STORE_ASM "m16n16k8.shared.f32 "
#endif
#endif

/* 1 if the engine has the type. The host never launches the kernel on other architectures. */
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
        asm volatile("wmma.load.b.sync.aligned.row." WMMA_LOAD_ASM
                     : WMMA_FRAGMENT_OPERANDS("=", fragment->words) : "r"(at), "r"(ld) : "memory");
    else
        asm volatile("wmma.load.a.sync.aligned.row." WMMA_LOAD_ASM
                     : WMMA_FRAGMENT_OPERANDS("=", fragment->words) : "r"(at), "r"(ld) : "memory");
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
    asm volatile("wmma.mma.sync.aligned.row.row." WMMA_MMA_ASM
                 : WMMA_SUM_OPERANDS("+", sums->values)
                 : WMMA_FRAGMENT_OPERANDS("", a->words), WMMA_FRAGMENT_OPERANDS("", b->words));
#else
    asm volatile("trap;");
#endif
}

DEVICE void wmma_store(sum_t *to, const sums_t *sums, uint ld)
{
#if HAS_WMMA
    asm volatile("wmma.store.d.sync.aligned.row." WMMA_STORE_ASM "[%8], " SUM_REGISTERS ", %9;" ::
                 WMMA_SUM_OPERANDS("", sums->values), "r"((uint)__cvta_generic_to_shared(to)), "r"(ld)
                 : "memory");
#endif
}

#endif

#endif /* RUNG_WMMA_H */
