/* SPDX-License-Identifier: Apache-2.0 */
/* mma.h - the ldmatrix and mma.sync instructions of NVIDIA's matrix engines, and an emulation in
 * software for devices without an engine. Used by 12_matrix.
 *
 *   load_fragment(...)  loads 16 rows x 32 bytes of k from a swizzled tile (mostly by ldmatrix)
 *   mma_all(...)        adds the products of one such step to a warp's tile of C (mma.sync); if F32
 *                       is split, it is in f32_terms.h
 *
 * A fragment is spread over the 32 lanes of a warp, four registers per lane. Its layout in bytes
 * is the same for every type. Register r of lane 4 g + q holds, for A, row g + 8 (r % 2) and four
 * bytes of k starting at 4 q + 16 (r / 2). For B it holds column g + 8 (r / 2) and four bytes of
 * k starting at 4 q + 16 (r % 2); these are two consecutive operands of the instruction. The four
 * sums of a lane in a 16 x 8 tile are columns 2 q and 2 q + 1 of row g, then of row g + 8. For
 * MN-major elements of one byte or eight, rows and columns are paired: 2 g replaces g, and 2 g + 1
 * replaces g + 8.
 *
 * An F64 takes two registers, low word first. Registers 0 and 1 of lane 4 g + q hold row g of A, or
 * column g of B, at step q of k; registers 2 and 3 hold row or column g + 8.
 *
 * load_fragment_group(...) loads two fragments of MN-major elements of four bytes by 16 bytes. Of
 * A's 32 rows, 4 g + 2 f + h replaces row g + 8 h of fragment f. Of B's 32 columns, 4 g + j replaces
 * column g of operand j.
 *
 * The element type is in_t. ARCH is the architecture of the instructions, at least 75. The
 * emulation (see engine.h) emulates architecture EMULATED and interprets every register as the
 * instruction does, so a wrong fragment gives a wrong result.
 */
#ifndef RUNG_MMA_H
#define RUNG_MMA_H

#if defined(__CUDA_ARCH__)
#define ARCH (__CUDA_ARCH__ / 10)
#else
#define ARCH EMULATED
#endif

#ifdef __OPENCL_C_VERSION__

#define hide_from_optimizer(x) (x)
#define even_bytes(x, y) ((x) & 0xff | (x) >> 8 & 0xff00 | ((y) & 0xff) << 16 | ((y) & 0xff0000) << 8)
#define odd_bytes(x, y)  even_bytes((x) >> 8, (y) >> 8)
#define words_double(low, high)   as_double((uint2)(low, high))
#define double_word(value, word) ((word) == 0 ? as_uint2(value).x : as_uint2(value).y)

/* Emulates ldmatrix with the address ldmatrix_offset() in every lane. Matrix r has 8 rows of
 * 16 bytes; a lane receives four bytes of one row or, transposed, two bytes of each of two. */
DEVICE void ldmatrix(engine_t engine, uint *registers, SHARED const in_t *tile, uint mn, uint k_bytes,
                     uint row_bytes, int mn_major, int is_b)
{
    SHARED const uchar *bytes = (SHARED const uchar *)tile;
    const uint lane = engine.lane;
    for (uint r = 0; r < 4; r++) {
        if (!mn_major) {
            const uint at = ldmatrix_offset(8 * r + lane / 4, mn, k_bytes, row_bytes, IN_BYTES, 0, is_b) + lane % 4 * 4;
            registers[r] = *(SHARED const uint *)&bytes[at];
        } else {
            const uint row = 8 * r + lane % 4 * 2, byte = lane / 4 * 2;
            const uint low = ldmatrix_offset(row, mn, k_bytes, row_bytes, IN_BYTES, 1, is_b) + byte;
            const uint high = ldmatrix_offset(row + 1, mn, k_bytes, row_bytes, IN_BYTES, 1, is_b) + byte;
            registers[r] = *(SHARED const ushort *)&bytes[low] |
                           (uint)*(SHARED const ushort *)&bytes[high] << 16;
        }
    }
}

/* Returns the sum of the products of the elements in two registers. */
DEVICE sum_t dot(uint a, uint b)
{
#if IN_BYTES == 1
    sum_t sum = 0;
    for (uint i = 0; i < 32; i += 8)
        sum += widen((in_t)(a >> i & 0xff)) * widen((in_t)(b >> i & 0xff));
    return sum;
#elif AS_TF32 && F32_TERMS == 3
    return float_of_bf16((ushort)(a & 0xffff)) * float_of_bf16((ushort)(b & 0xffff)) +
           float_of_bf16((ushort)(a >> 16)) * float_of_bf16((ushort)(b >> 16));
#elif AS_TF32
    return as_float(a & 0xffffe000u) * as_float(b & 0xffffe000u); /* the engine ignores the other bits */
#else
    return widen((in_t)(a & 0xffff)) * widen((in_t)(b & 0xffff)) +
           widen((in_t)(a >> 16)) * widen((in_t)(b >> 16));
#endif
}

/* Emulates one `rows` x 8 instruction over k_bytes of k. `a` and `b` are the indices of its first
 * operand registers among the words that the lanes have published. A has one register per 8 rows
 * and 16 bytes of k, B one per 16 bytes of k. */
DEVICE void mma(engine_t engine, sum_t *sum, uint a, uint b, uint rows, uint k_bytes)
{
    const uint group = engine.lane / 4, pair = engine.lane % 4 * 2;
    for (uint row_half = 0; row_half < rows / 8; row_half++)
        for (uint j = 0; j < 2; j++)
            for (uint k_half = 0; k_half < k_bytes / 16; k_half++)
                for (uint lane = 0; lane < 4; lane++)
                    sum[2 * row_half + j] += dot(
                        engine.words[(group * 4 + lane) * ENGINE_WORDS + a + row_half + k_half * (rows / 8)],
                        engine.words[((pair + j) * 4 + lane) * ENGINE_WORDS + b + k_half]);
}

#if defined(IN_F64)
/* Emulates m8n8k4 of f64 for 8 of 16 rows: fused multiply-adds in the order of k. */
DEVICE void mma_f64(engine_t engine, sum_t *sum, uint a, uint b)
{
    const uint group = engine.lane / 4, pair = engine.lane % 4 * 2;
    for (uint j = 0; j < 2; j++)
        for (uint lane = 0; lane < 4; lane++) {
            GLOBAL const uint *x = &engine.words[(group * 4 + lane) * ENGINE_WORDS + a];
            GLOBAL const uint *y = &engine.words[((pair + j) * 4 + lane) * ENGINE_WORDS + b];
            sum[j] = fma(words_double(x[0], x[1]), words_double(y[0], y[1]), sum[j]);
        }
}
#endif

/* Emulates the instructions of ARCH for a 16 x 8 tile and 32 bytes of k. */
DEVICE void mma_step(engine_t engine, sum_t *sum, uint a, uint b)
{
#if defined(IN_F64)
    mma_f64(engine, sum, a, b);
    mma_f64(engine, sum + 2, a + 2, b);
#elif ARCH >= 80
    mma(engine, sum, a, b, 16, 32); /* m16n8k16, m16n8k32 of one byte, m16n8k8 of tf32 */
#elif defined(IN_I8)
    for (uint row_half = 0; row_half < 2; row_half++) /* m8n8k16 */
        for (uint k_half = 0; k_half < 2; k_half++)
            mma(engine, sum + 2 * row_half, a + row_half + 2 * k_half, b + k_half, 8, 16);
#else
    mma(engine, sum, a, b, 16, 16); /* m16n8k8 */
    mma(engine, sum, a + 2, b + 1, 16, 16);
#endif
}

#if !SPLITS_F32
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
#endif

#else /* CUDA */

#define even_bytes(x, y) __byte_perm(x, y, 0x6420)
#define odd_bytes(x, y)  __byte_perm(x, y, 0x7531)
#define words_double(low, high)   __hiloint2double((int)(high), (int)(low))
#define double_word(value, word) (uint)((word) == 0 ? __double2loint(value) : __double2hiint(value))

/* Returns x through an opaque instruction. The compiler cannot hoist values computed from the
 * result out of the loop, so they do not occupy registers across steps. */
DEVICE uint hide_from_optimizer(uint x)
{
    asm volatile("" : "+r"(x));
    return x;
}

#define LDMATRIX(trans, registers, at)                                                          \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%0, %1, %2, %3}, [%4];"    \
                 : "=r"((registers)[0]), "=r"((registers)[1]), "=r"((registers)[2]),            \
                   "=r"((registers)[3])                                                         \
                 : "r"(at)                                                                      \
                 : "memory")

DEVICE void ldmatrix(engine_t engine, uint *registers, const in_t *tile, uint mn, uint k_bytes,
                     uint row_bytes, int mn_major, int is_b)
{
    const uint at = (uint)__cvta_generic_to_shared(tile) +
                    ldmatrix_offset(engine.lane, mn, k_bytes, row_bytes, IN_BYTES, mn_major, is_b);
    if (mn_major)
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

#define MMA_8X8_F64(sum, a, b)                                                                  \
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "       \
                 "{%0, %1};"                                                                    \
                 : "+d"((sum)[0]), "+d"((sum)[1])                                               \
                 : "d"(a), "d"(b))

#define MMA_16X8_F64(sum, a0, a1, b)                                                            \
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "          \
                 "{%4, %5}, {%6}, {%0, %1, %2, %3};"                                            \
                 : "+d"((sum)[0]), "+d"((sum)[1]), "+d"((sum)[2]), "+d"((sum)[3])               \
                 : "d"(a0), "d"(a1), "d"(b))

#if (defined(IN_F8E4M3) || defined(IN_F8E5M2)) && ARCH >= 90 && ARCH < 120

/* On sm_90 and sm_100, mma.sync has no FP8. The compiler replaces it by F16 and spills registers, so
 * it is replaced here. */

#ifdef IN_F8E4M3
#define FP8_PAIR "e4m3x2"
#else
#define FP8_PAIR "e5m2x2"
#endif

/* Converts four FP8 elements to two pairs of F16, which is exact. */
DEVICE void fp8_to_f16(uint *low, uint *high, uint bits)
{
    asm("{ .reg .b16 low, high;\n"
        "mov.b32 {low, high}, %2;\n"
        "cvt.rn.f16x2." FP8_PAIR " %0, low;\n"
        "cvt.rn.f16x2." FP8_PAIR " %1, high; }"
        : "=r"(*low), "=r"(*high)
        : "r"(bits));
}

/* Each half of the 32 steps of k is one instruction. Its first 8 steps are the low pairs of the
 * registers: another order of k, but the same for A and B. */
DEVICE void mma_all(engine_t engine, sum_t *sum, const uint *a, const uint *b, uint rows, uint cols)
{
#pragma unroll
    for (uint k_half = 0; k_half < 2; k_half++) {
        uint b_pairs[64]; /* at least WN / 4 */
#pragma unroll
        for (uint j = 0; j < cols; j++)
            fp8_to_f16(&b_pairs[2 * j], &b_pairs[2 * j + 1], b[2 * j + k_half]);
#pragma unroll
        for (uint i = 0; i < rows; i++) {
            uint a_pairs[4];
            fp8_to_f16(&a_pairs[0], &a_pairs[2], a[4 * i + 2 * k_half]);
            fp8_to_f16(&a_pairs[1], &a_pairs[3], a[4 * i + 2 * k_half + 1]);
#pragma unroll
            for (uint j = 0; j < cols; j++)
                MMA_16X8("m16n8k16.row.col.f32.f16.f16.f32", "f", &sum[(i * cols + j) * 4], a_pairs, b_pairs[2 * j],
                         b_pairs[2 * j + 1]);
        }
    }
}

#else

/* Traps if the engine lacks the type. The host never launches such a kernel. */
DEVICE void mma_step(sum_t *sum, const uint *a, uint b0, uint b1)
{
#if ARCH >= 90 && defined(IN_F64)
    MMA_16X8_F64(sum, words_double(a[0], a[1]), words_double(a[2], a[3]), words_double(b0, b1));
#elif ARCH >= 80 && defined(IN_F64)
    MMA_8X8_F64(sum, words_double(a[0], a[1]), words_double(b0, b1));
    MMA_8X8_F64(sum + 2, words_double(a[2], a[3]), words_double(b0, b1));
#elif ARCH >= 80 && defined(IN_F16)
    MMA_16X8("m16n8k16.row.col.f32.f16.f16.f32", "f", sum, a, b0, b1);
#elif ARCH >= 80 && defined(IN_BF16)
    MMA_16X8("m16n8k16.row.col.f32.bf16.bf16.f32", "f", sum, a, b0, b1);
#elif ARCH >= 80 && AS_TF32
    MMA_16X8("m16n8k8.row.col.f32.tf32.tf32.f32", "f", sum, a, b0, b1);
#elif ARCH >= 80 && defined(IN_I8)
    MMA_16X8("m16n8k32.row.col.s32.s8.s8.s32", "r", sum, a, b0, b1);
#elif ARCH >= 89 && defined(IN_F8E4M3)
    MMA_16X8("m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", sum, a, b0, b1);
#elif ARCH >= 89 && defined(IN_F8E5M2)
    MMA_16X8("m16n8k32.row.col.f32.e5m2.e5m2.f32", "f", sum, a, b0, b1);
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

#if !SPLITS_F32
DEVICE void mma_all(engine_t engine, sum_t *sum, const uint *a, const uint *b, uint rows, uint cols)
{
#pragma unroll
    for (uint i = 0; i < rows; i++)
#pragma unroll
        for (uint j = 0; j < cols; j++)
            mma_step(&sum[(i * cols + j) * 4], &a[4 * i], b[2 * j], b[2 * j + 1]);
}
#endif

#endif /* FP8 by F16 */

#endif /* CUDA */

/* Returns an F32 as fragments hold it: rounded to TF32, or as it is if f32_terms.h splits it. */
DEVICE uint fragment_word(uint bits)
{
    return SPLITS_F32 ? bits : tf32_of(bits);
}

/* Loads a fragment of MN-major elements of four bytes, which ldmatrix cannot transpose, with
 * ordinary loads. */
DEVICE void load_fragment_transposed(engine_t engine, uint *registers, SHARED const in_t *tile, uint mn,
                                     uint k_bytes, uint row_bytes, int is_b)
{
    const uint lane = hide_from_optimizer(engine.lane);
#pragma unroll
    for (uint r = 0; r < 4; r++) {
        const uint half_mn = is_b ? r / 2 : r % 2, half_k = is_b ? r % 2 : r / 2;
        const uint at = element_offset(mn + lane / 4 + half_mn * 8, k_bytes / 4 + lane % 4 + half_k * 4, row_bytes,
                                       4, 1);
        registers[r] = *(SHARED const uint *)&tile[at / IN_BYTES];
    }
}

/* Loads a fragment of doubles, which ldmatrix would divide between two lanes, with ordinary loads. */
DEVICE void load_fragment_f64(engine_t engine, uint *registers, SHARED const in_t *tile, uint mn,
                              uint k_bytes, uint row_bytes, int mn_major)
{
    if (mn_major) {
        const uint at = double_pair_offset(engine.lane, mn, k_bytes / 8, row_bytes);
        const uint4 pair = *(SHARED const uint4 *)&tile[at / IN_BYTES];
        registers[0] = pair.x;
        registers[1] = pair.y;
        registers[2] = pair.z;
        registers[3] = pair.w;
        return;
    }
#pragma unroll
    for (uint half_mn = 0; half_mn < 2; half_mn++) {
        const uint at = double_offset(engine.lane, mn + half_mn * 8, k_bytes / 8, row_bytes);
        const uint2 element = *(SHARED const uint2 *)&tile[at / IN_BYTES];
        registers[2 * half_mn] = element.x;
        registers[2 * half_mn + 1] = element.y;
    }
}

/* Loads two fragments: 32 rows of A, or columns of B, starting at mn. A chunk holds four adjacent
 * rows or columns for one step of k, each an element of another register. */
DEVICE void load_fragment_group(engine_t engine, uint *registers, SHARED const in_t *tile, uint mn,
                                uint k_bytes, uint row_bytes, int is_b)
{
#pragma unroll
    for (uint half_k = 0; half_k < 2; half_k++) {
        const uint at = group_offset(engine.lane, mn, k_bytes / 4 + half_k * 4, row_bytes);
        const uint4 chunk = *(SHARED const uint4 *)&tile[at / IN_BYTES];
        const uint words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
        for (uint i = 0; i < 4; i++)
            registers[is_b ? 2 * i + half_k : i / 2 * 4 + half_k * 2 + i % 2] = fragment_word(words[i]);
    }
}

/* Regroups two registers with 2 x 2 bytes each (two of k for two rows or columns) into one
 * register with four bytes of k per row or column; the same for the other half of k. */
DEVICE void regroup_bytes(uint *registers, int is_b)
{
    const uint even = even_bytes(registers[0], registers[1]), odd = odd_bytes(registers[0], registers[1]);
    const uint even_k = even_bytes(registers[2], registers[3]), odd_k = odd_bytes(registers[2], registers[3]);
    registers[0] = even;
    registers[is_b ? 2 : 1] = odd;
    registers[is_b ? 1 : 2] = even_k;
    registers[3] = odd_k;
}

/* Loads 16 rows of A, or columns of B, starting at mn, and 32 bytes of k for mma_all(). */
DEVICE void load_fragment(engine_t engine, uint *registers, SHARED const in_t *tile, uint mn,
                          uint k_bytes, uint row_bytes, int mn_major, int is_b)
{
    if (IN_BYTES == 8)
        load_fragment_f64(engine, registers, tile, mn, k_bytes, row_bytes, mn_major);
    else if (mn_major && IN_BYTES == 4)
        load_fragment_transposed(engine, registers, tile, mn, k_bytes, row_bytes, is_b);
    else
        ldmatrix(engine, registers, tile, mn, k_bytes, row_bytes, mn_major, is_b);
    if (mn_major && IN_BYTES == 1)
        regroup_bytes(registers, is_b);
#if AS_TF32
#pragma unroll
    for (uint r = 0; r < 4; r++)
        registers[r] = fragment_word(registers[r]);
#endif
}

#endif /* RUNG_MMA_H */
