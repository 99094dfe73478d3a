/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.h - the instructions of NVIDIA's matrix engines, and what stands for them where
 * there is none.
 *
 *   take_fragment(...)  16 x 32 bytes of k from a swizzled tile: ldmatrix, turned if need be
 *   mma_all(...)        a warp's tile of C plus the products of one such step: mma.sync
 *
 * A fragment is spread over the 32 lanes of a warp, four registers each. In bytes it is the
 * same for every type: register r of lane 4 g + q has row g + 8 (r % 2) of A and the four
 * bytes of k from 4 q + 16 (r / 2) on. Of B it has column g + 8 (r / 2) and the bytes from
 * 4 q + 16 (r % 2) on, which is two of the instruction's operands, one behind the other. A
 * lane's four sums of 16 x 8 are columns 2 q and 2 q + 1 of row g, then of row g + 8. Where
 * elements of one byte stand along l, rows and columns come in twos: 2 g for g, and 2 g + 1
 * for g + 8.
 *
 * The type is that of the file's in_t; ARCH is the architecture, 75 or more, that the
 * instructions are of. In software (see engine.h) EMULATED says whose, and each register is
 * taken for what the instruction takes it for: a wrong fragment gives a wrong result.
 */
#ifndef RUNG_MATRIX_H
#define RUNG_MATRIX_H

#if defined(__CUDA_ARCH__)
#define ARCH (__CUDA_ARCH__ / 10)
#else
#define ARCH EMULATED
#endif

/* Sums side by side. */
#if defined(WHOLE)
typedef uint2 sum2_t;
typedef uint4 sum4_t;
#else
typedef float2 sum2_t;
typedef float4 sum4_t;
#endif

#ifdef __OPENCL_C_VERSION__

/* By themselves: Oclgrind takes vectors that are put together for unwritten. */
#define put_two(to, x, y) ((to)[0] = (x), (to)[1] = (y))
#define put_four(to, x, y, z, w) ((to)[0] = (x), (to)[1] = (y), (to)[2] = (z), (to)[3] = (w))
#define as_if_new(x) (x)
#define even_bytes(x, y) ((x) & 0xff | (x) >> 8 & 0xff00 | ((y) & 0xff) << 16 | ((y) & 0xff0000) << 8)
#define odd_bytes(x, y)  even_bytes((x) >> 8, (y) >> 8)

/* What a lane gets when every lane points at ldmatrix_at() of itself. The 8 x 8 of two bytes
 * in matrix r are rows of 16 bytes; a lane gets four bytes of one, or two of two. */
DEVICE void ldmatrix(engine_t engine, uint *registers, SHARED const in_t *tile, uint l, uint k_bytes,
                     uint row_bytes, int along_l, int is_b)
{
    SHARED const uchar *bytes = (SHARED const uchar *)tile;
    const uint lane = engine.lane;
    for (uint r = 0; r < 4; r++) {
        if (!along_l) {
            const uint at = ldmatrix_at(8 * r + lane / 4, l, k_bytes, row_bytes, IN_BYTES, 0, is_b) + lane % 4 * 4;
            registers[r] = *(SHARED const uint *)&bytes[at];
        } else {
            const uint row = 8 * r + lane % 4 * 2, place = lane / 4 * 2;
            const uint low = ldmatrix_at(row, l, k_bytes, row_bytes, IN_BYTES, 1, is_b) + place;
            const uint high = ldmatrix_at(row + 1, l, k_bytes, row_bytes, IN_BYTES, 1, is_b) + place;
            registers[r] = *(SHARED const ushort *)&bytes[low] |
                           (uint)*(SHARED const ushort *)&bytes[high] << 16;
        }
    }
}

/* The products of what two registers hold, added up. */
DEVICE sum_t dot(uint a, uint b)
{
#if defined(IN_I8)
    sum_t sum = 0;
    for (uint i = 0; i < 32; i += 8)
        sum += widen((in_t)(a >> i & 0xff)) * widen((in_t)(b >> i & 0xff));
    return sum;
#elif AS_TF32
    return as_float(a & 0xffffe000u) * as_float(b & 0xffffe000u); /* the engine sees no more */
#else
    return widen((in_t)(a & 0xffff)) * widen((in_t)(b & 0xffff)) +
           widen((in_t)(a >> 16)) * widen((in_t)(b >> 16));
#endif
}

/* One instruction of `rows` x 8 with so many bytes of k, whose operands are the registers
 * from `a` and from `b` on, as their lanes have published them. A's registers are the 8 rows
 * of each half within each 16 bytes of k, B's those 16 bytes. */
DEVICE void mma(engine_t engine, sum_t *sum, uint a, uint b, uint rows, uint k_bytes)
{
    const uint group = engine.lane / 4, pair = engine.lane % 4 * 2;
    for (uint eight = 0; eight < rows / 8; eight++)
        for (uint j = 0; j < 2; j++)
            for (uint part = 0; part < k_bytes / 16; part++)
                for (uint lane = 0; lane < 4; lane++)
                    sum[2 * eight + j] += dot(
                        engine.words[(group * 4 + lane) * ENGINE_WORDS + a + eight + part * (rows / 8)],
                        engine.words[((pair + j) * 4 + lane) * ENGINE_WORDS + b + part]);
}

/* The instructions that an architecture has for 16 x 8 and 32 bytes of k. */
DEVICE void mma_step(engine_t engine, sum_t *sum, uint a, uint b)
{
#if ARCH >= 80
    mma(engine, sum, a, b, 16, 32); /* m16n8k16, m16n8k32 of i8, m16n8k8 of tf32 */
#elif defined(IN_I8)
    for (uint eight = 0; eight < 2; eight++) /* m8n8k16 */
        for (uint part = 0; part < 2; part++)
            mma(engine, sum + 2 * eight, a + eight + 2 * part, b + part, 8, 16);
#else
    mma(engine, sum, a, b, 16, 16); /* m16n8k8 */
    mma(engine, sum, a + 2, b + 1, 16, 16);
#endif
}

DEVICE void mma_all(engine_t engine, sum_t *sum, const uint *a, const uint *b, uint rows, uint cols)
{
    GLOBAL uint *own = engine.words + engine.lane * ENGINE_WORDS;
    for (uint i = 0; i < 4 * rows; i++)
        own[i] = a[i];
    for (uint i = 0; i < 2 * cols; i++)
        own[4 * rows + i] = b[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint i = 0; i < rows; i++)
        for (uint j = 0; j < cols; j++)
            mma_step(engine, &sum[(i * cols + j) * 4], 4 * i, 4 * rows + 2 * j);
    barrier(CLK_GLOBAL_MEM_FENCE);
}

#else /* CUDA */

#define put_two(to, x, y) (*(sum2_t *)(to) = sum2_t{x, y})
#define put_four(to, x, y, z, w) (*(uint4 *)(to) = make_uint4(x, y, z, w))
#define even_bytes(x, y) __byte_perm(x, y, 0x6420)
#define odd_bytes(x, y)  __byte_perm(x, y, 0x7531)

/* The same number, but the compiler does not know: what is computed from it is not kept in
 * registers from one step to the next. */
DEVICE uint as_if_new(uint x)
{
    asm volatile("" : "+r"(x));
    return x;
}

#define LDMATRIX(turn, registers, at)                                                           \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" turn ".shared.b16 {%0, %1, %2, %3}, [%4];"     \
                 : "=r"((registers)[0]), "=r"((registers)[1]), "=r"((registers)[2]),            \
                   "=r"((registers)[3])                                                         \
                 : "r"(at)                                                                      \
                 : "memory")

DEVICE void ldmatrix(engine_t engine, uint *registers, const in_t *tile, uint l, uint k_bytes,
                     uint row_bytes, int along_l, int is_b)
{
    const uint at = (uint)__cvta_generic_to_shared(tile) +
                    ldmatrix_at(engine.lane, l, k_bytes, row_bytes, IN_BYTES, along_l, is_b);
    if (along_l)
        LDMATRIX(".trans", registers, at);
    else
        LDMATRIX("", registers, at);
}

#define MMA_16X8(words, letter, sum, a, b0, b1)                                                 \
    asm volatile("mma.sync.aligned." words " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "    \
                 "{%0, %1, %2, %3};"                                                            \
                 : "+" letter((sum)[0]), "+" letter((sum)[1]), "+" letter((sum)[2]),            \
                   "+" letter((sum)[3])                                                         \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))

#define MMA_16X8_HALF(words, sum, a0, a1, b)                                                    \
    asm volatile("mma.sync.aligned." words " {%0, %1, %2, %3}, {%4, %5}, {%6}, "                \
                 "{%0, %1, %2, %3};"                                                            \
                 : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])               \
                 : "r"(a0), "r"(a1), "r"(b))

#define MMA_8X8(words, sum, a, b)                                                               \
    asm volatile("mma.sync.aligned." words " {%0, %1}, {%2}, {%3}, {%0, %1};"                   \
                 : "+r"((sum)[0]), "+r"((sum)[1])                                               \
                 : "r"(a), "r"(b))

/* The host launches nothing on an architecture whose engine has not got the type. */
DEVICE void mma_step(sum_t *sum, const uint *a, uint b0, uint b1)
{
#if ARCH >= 80 && defined(IN_F16)
    MMA_16X8("m16n8k16.row.col.f32.f16.f16.f32", "f", sum, a, b0, b1);
#elif ARCH >= 80 && defined(IN_BF16)
    MMA_16X8("m16n8k16.row.col.f32.bf16.bf16.f32", "f", sum, a, b0, b1);
#elif ARCH >= 80 && AS_TF32
    MMA_16X8("m16n8k8.row.col.f32.tf32.tf32.f32", "f", sum, a, b0, b1);
#elif ARCH >= 80
    MMA_16X8("m16n8k32.row.col.s32.s8.s8.s32", "r", sum, a, b0, b1);
#elif ARCH >= 75 && defined(IN_F16)
    MMA_16X8_HALF("m16n8k8.row.col.f32.f16.f16.f32", sum, a[0], a[1], b0);
    MMA_16X8_HALF("m16n8k8.row.col.f32.f16.f16.f32", sum, a[2], a[3], b1);
#elif ARCH >= 75 && defined(IN_I8)
    MMA_8X8("m8n8k16.row.col.s32.s8.s8.s32", sum, a[0], b0);
    MMA_8X8("m8n8k16.row.col.s32.s8.s8.s32", sum, a[2], b1);
    MMA_8X8("m8n8k16.row.col.s32.s8.s8.s32", sum + 2, a[1], b0);
    MMA_8X8("m8n8k16.row.col.s32.s8.s8.s32", sum + 2, a[3], b1);
#else
    asm volatile("trap;");
#endif
}

DEVICE void mma_all(engine_t engine, sum_t *sum, const uint *a, const uint *b, uint rows, uint cols)
{
#pragma unroll
    for (uint i = 0; i < rows; i++)
#pragma unroll
        for (uint j = 0; j < cols; j++)
            mma_step(&sum[(i * cols + j) * 4], &a[4 * i], b[2 * j], b[2 * j + 1]);
}

#endif

/* What ldmatrix does not turn, elements of four bytes that stand along l, by ordinary
 * loads. */
DEVICE void turned_fragment(engine_t engine, uint *registers, SHARED const in_t *tile, uint l,
                            uint k_bytes, uint row_bytes, int is_b)
{
    const uint lane = as_if_new(engine.lane);
#pragma unroll
    for (uint r = 0; r < 4; r++) {
        const uint half_l = is_b ? r / 2 : r % 2, half_k = is_b ? r % 2 : r / 2;
        const uint at = element_at(l + lane / 4 + half_l * 8, k_bytes / 4 + lane % 4 + half_k * 4, row_bytes, 4, 1);
        registers[r] = *(SHARED const uint *)&tile[at / IN_BYTES];
    }
}

/* From 2 x 2 bytes in each of two registers, two of k by two of l, to four of k for each l;
 * and the same for the other half of k. */
DEVICE void sort_bytes(uint *registers, int is_b)
{
    const uint even = even_bytes(registers[0], registers[1]), odd = odd_bytes(registers[0], registers[1]);
    const uint even_k = even_bytes(registers[2], registers[3]), odd_k = odd_bytes(registers[2], registers[3]);
    registers[0] = even;
    registers[is_b ? 2 : 1] = odd;
    registers[is_b ? 1 : 2] = even_k;
    registers[3] = odd_k;
}

/* The 16 rows of A, or columns of B, from l on and 32 bytes of k, for mma_all. */
DEVICE void take_fragment(engine_t engine, uint *registers, SHARED const in_t *tile, uint l,
                          uint k_bytes, uint row_bytes, int along_l, int is_b)
{
    if (along_l && IN_BYTES == 4)
        turned_fragment(engine, registers, tile, l, k_bytes, row_bytes, is_b);
    else
        ldmatrix(engine, registers, tile, l, k_bytes, row_bytes, along_l, is_b);
    if (along_l && IN_BYTES == 1)
        sort_bytes(registers, is_b);
#if AS_TF32
#pragma unroll
    for (uint r = 0; r < 4; r++)
        registers[r] = tf32_of(registers[r]);
#endif
}

#endif /* RUNG_MATRIX_H */
