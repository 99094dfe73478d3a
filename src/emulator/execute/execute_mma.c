/* SPDX-License-Identifier: Apache-2.0 */
/* execute_mma.c - mma.sync.
 *
 * With E elements per 32-bit register, g = lane / 4 and t = lane % 4, the fragments of mma.sync are:
 *     A, register i:  row g + 8 * (i % (M / 8)),  column t * E + e + 4 * E * (i / (M / 8))
 *     B, register i:  row t * E + e + 4 * E * i,  column g
 *     C, element i:   row g + 8 * (i / 2),        column 2 * t + i % 2
 * Floating-point sums are fused multiply-adds in single precision (.f64: double), from C on, in the order of k. The registers
 * are unpacked to planes first; see mma_vectors.h. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"
#include "emulator/execute/mma_vectors.h"
#include "emulator/ptx/matrix_shape.h"

MMA_PRODUCT(float, floats, float_products, FLOATS)
MMA_PRODUCT(double, doubles, double_products, DOUBLES)
MMA_PRODUCT(int32_t, pairs, pair_products, PAIRS)

/* ---- Fragments ----------------------------------------------------------------------------------------------------- */

/* First registers of the fragments in the instruction's list, and the registers per group of 8 rows of A. */
typedef struct fragments {
    const ptx_operand_t *d, *a, *b, *c;
    int row_groups, blocks;
} fragments_t;

static inline int bits_of(ptx_type_t type)
{
    switch (type) {
    case PTX_F64: return 64;
    case PTX_F16:
    case PTX_BF16: return 16;
    case PTX_S4:
    case PTX_U4: return 4;
    case PTX_TF32:
    case PTX_F32:
    case PTX_S32: return 32;
    default: return 8;
    }
}

static inline fragments_t find_fragments(const ptx_instruction_t *instruction, const ptx_matrix_shape_t *shape)
{
    int bits = bits_of((ptx_type_t)shape->a_type), per_word = bits == 64 ? 1 : 32 / bits;
    int d_count = shape->m / 8 * (shape->d_type == PTX_F16 ? 1 : 2);
    fragments_t fragments = {.d = instruction->list, .row_groups = shape->m / 8, .blocks = shape->k / (4 * per_word)};
    int a_count = fragments.row_groups * fragments.blocks;
    fragments.a = fragments.d + d_count;
    fragments.b = fragments.a + a_count;
    fragments.c = fragments.b + fragments.blocks;
    return fragments;
}

/* Copies the words of B from the order of lanes to that of planes. */
static inline void order_words_of_b(const uint32_t words[PTX_WARP_LANES], uint32_t to[PTX_WARP_LANES])
{
#ifdef __AVX512F__
    static const uint32_t order[PTX_WARP_LANES] = {0, 8,  16, 24, 4, 12, 20, 28, 1, 9,  17, 25, 5, 13, 21, 29,
                                                   2, 10, 18, 26, 6, 14, 22, 30, 3, 11, 19, 27, 7, 15, 23, 31};
    __m512i low = _mm512_loadu_si512(words), high = _mm512_loadu_si512(words + 16);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi32(low, _mm512_loadu_si512(order), high));
    _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi32(low, _mm512_loadu_si512(order + 16), high));
#else
    for (int t = 0; t < 4; t++)
        for (int column = 0; column < 8; column++)
            to[8 * t + column % 2 * 4 + column / 2] = words[4 * column + t];
#endif
}

/* ---- Floating-point elements --------------------------------------------------------------------------------------- */

/* Converts both halves of each word: the lower ones to low, the upper ones to high. */
static inline void widen_f16(const uint32_t words[PTX_WARP_LANES], float *low, float *high)
{
#if defined(__AVX512BW__)
    static const uint16_t order[] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                     1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    for (int i = 0; i < PTX_WARP_LANES; i += 16) {
        __m512i halves = _mm512_permutexvar_epi16(_mm512_loadu_si512(order), _mm512_loadu_si512(words + i));
        _mm512_storeu_ps(low + i, _mm512_cvtph_ps(_mm512_castsi512_si256(halves)));
        _mm512_storeu_ps(high + i, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)));
    }
#elif defined(__F16C__)
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12,
                                           13, 2, 3, 6, 7, 10, 11, 14, 15);
    for (int i = 0; i < PTX_WARP_LANES; i += 8) {
        __m256i halves = _mm256_loadu_si256((const __m256i *)(const void *)(words + i));
        halves = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(halves, order), 0xd8);
        _mm256_storeu_ps(low + i, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
        _mm256_storeu_ps(high + i, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
    }
#else
    for (int i = 0; i < PTX_WARP_LANES; i++) {
        low[i] = f16_to_f32((uint16_t)words[i]);
        high[i] = f16_to_f32((uint16_t)(words[i] >> 16));
    }
#endif
}

/* Unpacks a register to its planes: elements e of all lanes to planes[e * stride]. */
static inline void unpack_floats(const uint32_t words[PTX_WARP_LANES], ptx_type_t type, float *planes, int stride)
{
    switch (type) {
    case PTX_F16: widen_f16(words, planes, planes + stride); break;
    case PTX_BF16:
        for (int i = 0; i < PTX_WARP_LANES; i++) {
            planes[i] = f32_of_bits(words[i] << 16);
            planes[stride + i] = f32_of_bits(words[i] & 0xffff0000u);
        }
        break;
    case PTX_TF32:
        for (int i = 0; i < PTX_WARP_LANES; i++)
            planes[i] = f32_of_bits(words[i] & ~0x1fffu);
        break;
    case PTX_E4M3:
        for (int i = 0; i < 4 * PTX_WARP_LANES; i++)
            planes[i / PTX_WARP_LANES * stride + i % PTX_WARP_LANES] = e4m3_to_f32(
                words[i % PTX_WARP_LANES] >> 8 * (i / PTX_WARP_LANES) & 0xff);
        break;
    default:
        for (int i = 0; i < 4 * PTX_WARP_LANES; i++)
            planes[i / PTX_WARP_LANES * stride + i % PTX_WARP_LANES] = e5m2_to_f32(words[i % PTX_WARP_LANES] >>
                                                                                   8 * (i / PTX_WARP_LANES));
        break;
    }
}

/* ---- Floating point ------------------------------------------------------------------------------------------------ */

static inline void unpack_float_operands(const ptx_warp_t *warp, const fragments_t *fragments,
                                         const ptx_matrix_shape_t *shape, floats_product_t *product)
{
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) uint32_t words[PTX_WARP_LANES];
    product->row_groups = fragments->row_groups;
    product->blocks = fragments->blocks;
    product->per_block = 32 / bits_of((ptx_type_t)shape->a_type);
    for (int i = 0; i < fragments->row_groups * fragments->blocks; i++) {
        int plane = i / fragments->row_groups * product->per_block, first = i % fragments->row_groups * PTX_WARP_LANES;
        unpack_floats(rungi_ptx_lanes(warp, fragments->a[i]), (ptx_type_t)shape->a_type, &product->a[plane][first],
                      MMA_PLANE);
    }
    for (int i = 0; i < fragments->blocks; i++) {
        int plane = i * product->per_block;
        order_words_of_b(rungi_ptx_lanes(warp, fragments->b[i]), words);
        unpack_floats(words, (ptx_type_t)shape->b_type, product->b[plane], PTX_WARP_LANES);
    }
}

EXECUTOR(mma_float)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    fragments_t fragments = find_fragments(instruction, &shape);
    floats_product_t product;
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) float sum[2 * MMA_ROW_GROUPS_MAX][PTX_WARP_LANES];
    (void)mask;
    unpack_float_operands(warp, &fragments, &shape, &product);
    for (int i = 0; i < 2 * fragments.row_groups; i++) {
        product.c[i] = shape.c_type == PTX_F16 ? sum[i] : rungi_ptx_lanes(warp, fragments.c[i]);
        product.d[i] = shape.d_type == PTX_F16 ? sum[i] : rungi_ptx_lanes(warp, fragments.d[i]);
    }
    for (int i = 0; shape.c_type == PTX_F16 && i < fragments.row_groups; i++) {
        int even = 2 * i;
        widen_f16(rungi_ptx_lanes(warp, fragments.c[i]), sum[even], sum[even + 1]);
    }
    multiply_floats(&product);
    for (int i = 0; shape.d_type == PTX_F16 && i < fragments.row_groups; i++) {
        uint32_t *d = rungi_ptx_lanes(warp, fragments.d[i]);
        int even = 2 * i;
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            d[lane] = f32_to_f16(sum[even][lane]) | (uint32_t)f32_to_f16(sum[even + 1][lane]) << 16;
    }
}

EXECUTOR(mma_f64)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    fragments_t fragments = find_fragments(instruction, &shape);
    doubles_product_t product;
    (void)mask;
    product.row_groups = fragments.row_groups;
    product.blocks = fragments.blocks;
    product.per_block = 1;
    for (int i = 0; i < fragments.row_groups * fragments.blocks; i++) {
        int plane = i / fragments.row_groups, first = i % fragments.row_groups * PTX_WARP_LANES;
        memcpy(&product.a[plane][first], rungi_ptx_lanes(warp, fragments.a[i]), PTX_WARP_LANES * sizeof(double));
    }
    for (int i = 0; i < fragments.blocks; i++) {
        const double *b = rungi_ptx_lanes(warp, fragments.b[i]);
        for (int t = 0; t < 4; t++)
            for (int column = 0; column < 8; column++)
                product.b[i][8 * t + column % 2 * 4 + column / 2] = b[4 * column + t];
    }
    for (int i = 0; i < 2 * fragments.row_groups; i++) {
        product.c[i] = rungi_ptx_lanes(warp, fragments.c[i]);
        product.d[i] = rungi_ptx_lanes(warp, fragments.d[i]);
    }
    multiply_doubles(&product);
}

/* ---- Integers ------------------------------------------------------------------------------------------------------ */

/* Unpacks a register to planes of pairs: number p of the lower half of each word, and that of the upper half. The order of a
 * sum of integers does not matter. */
static inline void unpack_pairs(const uint32_t words[PTX_WARP_LANES], ptx_type_t type, int32_t *planes, int stride)
{
    int bits = bits_of(type), right = 16 - bits;
    bool is_signed = type == PTX_S8 || type == PTX_S4;
    uint16_t halves[2 * PTX_WARP_LANES], pairs[2 * PTX_WARP_LANES];
    memcpy(halves, words, sizeof halves);
    for (int p = 0; p < 16 / bits; p++) {
        int left = right - bits * p;
        if (is_signed)
            for (int i = 0; i < 2 * PTX_WARP_LANES; i++)
                pairs[i] = (uint16_t)((int16_t)(uint16_t)(halves[i] << left) >> right);
        else
            for (int i = 0; i < 2 * PTX_WARP_LANES; i++)
                pairs[i] = (uint16_t)((uint16_t)(halves[i] << left) >> right);
        memcpy(planes + (size_t)p * (size_t)stride, pairs, sizeof pairs);
    }
}

static inline void unpack_integer_operands(const ptx_warp_t *warp, const fragments_t *fragments,
                                           const ptx_matrix_shape_t *shape, pairs_product_t *product)
{
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) uint32_t words[PTX_WARP_LANES];
    product->row_groups = fragments->row_groups;
    product->blocks = fragments->blocks;
    product->per_block = 16 / bits_of((ptx_type_t)shape->a_type);
    for (int i = 0; i < fragments->row_groups * fragments->blocks; i++) {
        int plane = i / fragments->row_groups * product->per_block, first = i % fragments->row_groups * PTX_WARP_LANES;
        unpack_pairs(rungi_ptx_lanes(warp, fragments->a[i]), (ptx_type_t)shape->a_type, &product->a[plane][first],
                     MMA_PLANE);
    }
    for (int i = 0; i < fragments->blocks; i++) {
        int plane = i * product->per_block;
        order_words_of_b(rungi_ptx_lanes(warp, fragments->b[i]), words);
        unpack_pairs(words, (ptx_type_t)shape->b_type, product->b[plane], PTX_WARP_LANES);
    }
}

/* The products' sum fits in 32 bits; adding C to it may not. */
static inline int32_t add_saturating(int32_t x, int32_t y)
{
    int64_t sum = (int64_t)x + y;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

EXECUTOR(mma_integer)
{
    static const int32_t zeros[PTX_WARP_LANES];
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    fragments_t fragments = find_fragments(instruction, &shape);
    pairs_product_t product;
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) int32_t sum[2 * MMA_ROW_GROUPS_MAX][PTX_WARP_LANES];
    bool saturates = instruction->flags & PTX_FLAG_SAT;
    (void)mask;
    unpack_integer_operands(warp, &fragments, &shape, &product);
    for (int i = 0; i < 2 * fragments.row_groups; i++) {
        product.c[i] = saturates ? zeros : rungi_ptx_lanes(warp, fragments.c[i]);
        product.d[i] = saturates ? sum[i] : rungi_ptx_lanes(warp, fragments.d[i]);
    }
    multiply_pairs(&product);
    for (int i = 0; saturates && i < 2 * fragments.row_groups; i++) {
        int32_t *d = rungi_ptx_lanes(warp, fragments.d[i]);
        const int32_t *c = rungi_ptx_lanes(warp, fragments.c[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            d[lane] = add_saturating(c[lane], sum[i][lane]);
    }
}

PTX_EXECUTORS(mma) = {E(mma_float), E(mma_integer), E(mma_f64), {NULL, NULL}};
