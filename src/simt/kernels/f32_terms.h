/* SPDX-License-Identifier: Apache-2.0 */
/* f32_terms.h - multiplies F32 as sums of short terms on the matrix engine, for the compute modes
 * tf32x3 and bf16x3 of 12_matrix.
 *
 *   mma_all(...)  as in mma.h, but of fragments that hold F32 as they are in memory
 *
 * A number is split into F32_TERMS terms, largest first: each term is what the terms before it leave,
 * rounded. Of the products of two terms t and u, those with t + u < F32_TERMS are added, smallest
 * first: three of four for two TF32 terms, six of nine for three BF16 terms. The others are smaller
 * than the rounding error of F32. An infinity leaves a NaN.
 *
 * TF32 terms have the layout of mma.h. BF16 terms are multiplied by m16n8k8, whose registers hold
 * two adjacent k. A lane has k = q and k = q + 4 of a row of A or a column of B. It packs these two,
 * so the instruction sees k in another order, which is the same for A and B.
 */
#ifndef RUNG_F32_TERMS_H
#define RUNG_F32_TERMS_H

#if SPLITS_F32

/* Registers per lane of one term: of a fragment of A, and of an operand of B. */
#define A_TERM_REGISTERS (F32_TERMS == 3 ? 2 : 4)
#define B_TERM_REGISTERS (F32_TERMS == 3 ? 1 : 2)

/* Operands of B in a warp's tile, at most. */
#define TERM_OPERANDS_MAX 32

/* Returns two floats, rounded to BF16, in one register. */
DEVICE uint pack_bf16(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return bf16_of_float(low) | (uint)bf16_of_float(high) << 16;
#endif
}

/* Return the leading terms of one or two numbers, and subtract them. */
DEVICE uint take_tf32_term(float *value)
{
    const uint term = tf32_of(float_bits(*value)) & 0xffffe000u; /* the bits that the engine reads */
    *value -= bits_float(term);
    return term;
}

DEVICE uint take_bf16_terms(float *low, float *high)
{
    const uint term = pack_bf16(*low, *high);
    *low -= bits_float(term << 16);
    *high -= bits_float(term & 0xffff0000u);
    return term;
}

/* Splits `count` registers. A BF16 pair consists of registers i and i + distance. The registers of term
 * t start at terms[t * stride]. */
DEVICE void split_registers(uint *terms, uint stride, const uint *registers, uint count, uint distance)
{
#if F32_TERMS == 3
#pragma unroll
    for (uint i = 0; i < count / 2; i++) {
        float low = bits_float(registers[i]), high = bits_float(registers[i + distance]);
#pragma unroll
        for (uint t = 0; t < F32_TERMS; t++)
            terms[t * stride + i] = take_bf16_terms(&low, &high);
    }
#else
#pragma unroll
    for (uint i = 0; i < count; i++) {
        float value = bits_float(registers[i]);
#pragma unroll
        for (uint t = 0; t < F32_TERMS; t++)
            terms[t * stride + i] = take_tf32_term(&value);
    }
#endif
}

DEVICE void split_a(uint *terms, const uint *fragment)
{
    split_registers(terms, A_TERM_REGISTERS, fragment, 4, 2);
}

DEVICE void split_b(uint *terms, uint stride, const uint *operand)
{
    split_registers(terms, stride, operand, 2, 1);
}

#ifdef __OPENCL_C_VERSION__

/* Publishes term t of A and term u of B, and adds their products. */
DEVICE void mma_term_product(engine_t engine, sum_t *sum, const uint *a, const uint *b, uint rows, uint cols, uint t,
                             uint u)
{
    GLOBAL uint *own = engine.words + engine.lane * ENGINE_WORDS;
    uint terms[F32_TERMS * 4];
    for (uint i = 0; i < rows; i++) {
        split_a(terms, &a[4 * i]);
        for (uint r = 0; r < A_TERM_REGISTERS; r++)
            own[i * A_TERM_REGISTERS + r] = terms[t * A_TERM_REGISTERS + r];
    }
    const uint b_first = rows * A_TERM_REGISTERS;
    for (uint j = 0; j < cols; j++) {
        split_b(terms, B_TERM_REGISTERS, &b[2 * j]);
        for (uint r = 0; r < B_TERM_REGISTERS; r++)
            own[b_first + j * B_TERM_REGISTERS + r] = terms[u * B_TERM_REGISTERS + r];
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint i = 0; i < rows; i++)
        for (uint j = 0; j < cols; j++) /* m16n8k8 of bf16 or of tf32 */
            mma(engine, &sum[(i * cols + j) * 4], i * A_TERM_REGISTERS, b_first + j * B_TERM_REGISTERS, 16,
                B_TERM_REGISTERS * 16);
    barrier(CLK_GLOBAL_MEM_FENCE);
}

DEVICE void mma_all(engine_t engine, sum_t *sum, const uint *a, const uint *b, uint rows, uint cols)
{
    for (uint order = F32_TERMS; order-- > 0;)
        for (uint t = 0; t <= order; t++)
            mma_term_product(engine, sum, a, b, rows, cols, t, order - t);
}

#else /* CUDA */

/* Adds the products of one term of a fragment of A and one term of an operand of B. */
DEVICE void mma_term_step(sum_t *sum, const uint *a, const uint *b)
{
#if ARCH >= 80 && F32_TERMS == 3
    MMA_16X8_HALF("m16n8k8.row.col.f32.bf16.bf16.f32", sum, a[0], a[1], b[0]);
#elif ARCH >= 80
    MMA_16X8("m16n8k8.row.col.f32.tf32.tf32.f32", "f", sum, a, b[0], b[1]);
#else
    asm volatile("trap;");
#endif
}

DEVICE void mma_all(engine_t engine, sum_t *sum, const uint *a, const uint *b, uint rows, uint cols)
{
    const uint b_stride = B_TERM_REGISTERS * TERM_OPERANDS_MAX;
    uint a_terms[F32_TERMS * A_TERM_REGISTERS], b_terms[F32_TERMS * B_TERM_REGISTERS * TERM_OPERANDS_MAX];
#pragma unroll
    for (uint j = 0; j < cols; j++)
        split_b(&b_terms[j * B_TERM_REGISTERS], b_stride, &b[2 * j]);
#pragma unroll
    for (uint i = 0; i < rows; i++) {
        split_a(a_terms, &a[4 * i]);
#pragma unroll
        for (uint rest = 0; rest < F32_TERMS; rest++) {
            const uint order = F32_TERMS - 1 - rest;
#pragma unroll
            for (uint t = 0; t <= order; t++)
#pragma unroll
                for (uint j = 0; j < cols; j++)
                    mma_term_step(&sum[(i * cols + j) * 4], &a_terms[t * A_TERM_REGISTERS],
                                  &b_terms[(order - t) * b_stride + j * B_TERM_REGISTERS]);
        }
    }
}

#endif

#endif /* F32 of several terms */

#endif /* RUNG_F32_TERMS_H */
