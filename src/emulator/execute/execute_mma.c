/* SPDX-License-Identifier: Apache-2.0 */
/* execute_mma.c - mma.sync.
 *
 * With E elements per 32-bit register, g = lane / 4 and t = lane % 4, the fragments of mma.sync are:
 *     A, register i:  row g + 8 * (i % (M / 8)),  column t * E + e + 4 * E * (i / (M / 8))
 *     B, register i:  row t * E + e + 4 * E * i,  column g
 *     C, element i:   row g + 8 * (i / 2),        column 2 * t + i % 2
 * Floating-point sums are fused multiply-adds in single precision (.f64: double), from C on, in the order of k. The registers
 * are unpacked first; see mma_vectors.h. A block is the 4 * E columns of A that are in the registers of the same lanes. */
#include <math.h>

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"
#include "emulator/execute/matrix_elements.h"
#include "emulator/execute/mma_vectors.h"
#include "emulator/ptx/matrix_shape.h"

MMA_PRODUCT(float, floats, float_products, FLOATS)
MMA_PRODUCT(double, doubles, double_products, DOUBLES)
MMA_PRODUCT(int32_t, pairs, pair_products, PAIRS)
#ifdef __AVX512VNNI__
MMA_PRODUCT(int32_t, quads, quad_products, QUADS)
#endif

/* ---- Fragments ----------------------------------------------------------------------------------------------------- */

/* First registers of the fragments in the instruction's list, the groups of 8 rows, and the elements per word. */
typedef struct fragments {
    const ptx_operand_t *d, *a, *b, *c;
    int row_groups, blocks, per_word;
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

MMA_INLINE fragments_t find_fragments(const ptx_instruction_t *instruction, const ptx_matrix_shape_t *shape)
{
    int bits = bits_of((ptx_type_t)shape->a_type), per_word = bits == 64 ? 1 : 32 / bits;
    int d_count = shape->m / 8 * (shape->d_type == PTX_F16 ? 1 : 2);
    fragments_t fragments = {
        .d = instruction->list, .row_groups = shape->m / 8, .blocks = shape->k / (4 * per_word), .per_word = per_word};
    int a_count = fragments.row_groups * fragments.blocks;
    fragments.a = fragments.d + d_count;
    fragments.b = fragments.a + a_count;
    fragments.c = fragments.b + fragments.blocks;
    return fragments;
}

/* Shapes with 8 rows read these as the rows 8 to 15. */
static const uint64_t no_rows[PTX_WARP_LANES];

/* Sorts registers first and, if there are 16 rows, first + step of a fragment to columns. */
MMA_INLINE void read_columns(const ptx_warp_t *warp, const fragments_t *fragments, const ptx_operand_t *first, int step,
                             uint32_t *to)
{
    const void *high = fragments->row_groups == 2 ? rungi_ptx_lanes(warp, first[step]) : no_rows;
    split_words(rungi_ptx_lanes(warp, first[0]), high, to);
}

MMA_INLINE void write_columns(const ptx_warp_t *warp, const fragments_t *fragments, const ptx_operand_t *first,
                              int step, const uint32_t *from)
{
    uint32_t unused[PTX_WARP_LANES];
    join_words(from, rungi_ptx_lanes(warp, first[0]),
               fragments->row_groups == 2 ? rungi_ptx_lanes(warp, first[step]) : unused);
}

/* Reads the columns of C, or writes those of D, in 32 bits. */
MMA_INLINE void read_sums(const ptx_warp_t *warp, const fragments_t *fragments, uint32_t *c)
{
    read_columns(warp, fragments, fragments->c, 2, c);
    read_columns(warp, fragments, fragments->c + 1, 2, c + (ptrdiff_t)4 * MMA_ROWS);
}

MMA_INLINE void write_sums(const ptx_warp_t *warp, const fragments_t *fragments, const uint32_t *d)
{
    write_columns(warp, fragments, fragments->d, 2, d);
    write_columns(warp, fragments, fragments->d + 1, 2, d + (ptrdiff_t)4 * MMA_ROWS);
}

/* Makes the compiler load what it has stored. Without that, it replaces loads of single elements and of halves of a vector,
 * which are cheap, by shuffles. */
static inline void forget_stores(void)
{
    __asm__ volatile("" ::: "memory");
}

/* ---- Floating point ------------------------------------------------------------------------------------------------ */

MMA_INLINE void unpack_float_a(const ptx_warp_t *warp, const fragments_t *fragments, ptx_type_t type, float *to)
{
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) uint32_t words[MMA_DEPTH_MAX / 2][MMA_ROWS]; /* of up to four blocks */
    for (int i = 0; i < fragments->blocks; i++)
        read_columns(warp, fragments, fragments->a + 2 * (size_t)i, 1, words[(size_t)(4 * i)]);
    for (int i = 0; i < 4 * fragments->blocks; i++)
        split_elements(words[i], fragments->per_word);
    forget_stores();
    unpack_floats(words[0], 4 * fragments->blocks * MMA_ROWS, type, to);
}

MMA_INLINE void unpack_float_b(const ptx_warp_t *warp, const fragments_t *fragments, ptx_type_t type, float *to)
{
    for (int i = 0; i < fragments->blocks; i++)
        unpack_floats(rungi_ptx_lanes(warp, fragments->b[i]), PTX_WARP_LANES, type,
                      to + (size_t)(i * PTX_WARP_LANES * fragments->per_word));
}

#ifdef __AVX512F__
/* Compares the A of an instruction with that of the last one, and replaces that. Returns whether it is the same. */
MMA_INLINE bool is_last_a(ptx_matrix_cache_t *last, const ptx_warp_t *warp, const fragments_t *fragments, int64_t shape)
{
    __m512i different = _mm512_set1_epi64(last->shape ^ shape);
    for (int i = 0; i < PTX_CACHED_REGISTERS; i++)
        for (int half = 0; half < PTX_WARP_LANES; half += 16) {
            __m512i words = _mm512_loadu_si512((const uint32_t *)rungi_ptx_lanes(warp, fragments->a[i]) + half);
            __m512i xor = _mm512_xor_si512(words, _mm512_loadu_si512(&last->words[i][half]));
            different = _mm512_or_si512(different, xor);
        }
    if (_mm512_test_epi32_mask(different, different) == 0)
        return true;
    last->shape = shape;
    for (int i = 0; i < PTX_CACHED_REGISTERS; i++)
        memcpy(last->words[i], rungi_ptx_lanes(warp, fragments->a[i]), sizeof last->words[i]);
    return false;
}
#endif

/* Returns the columns of A: in `a`, or those of an instruction before. Consecutive instructions often have the same A. */
MMA_INLINE const float *find_float_a(ptx_warp_t *warp, const fragments_t *fragments, const ptx_matrix_shape_t *shape,
                                     float *a)
{
#ifdef __AVX512F__
    ptx_matrix_cache_t *last = warp->matrix_cache;
    if (fragments->blocks == 2 && fragments->per_word == 2) {
        if (!is_last_a(last, warp, fragments, rungi_ptx_pack_shape(*shape)))
            unpack_float_a(warp, fragments, (ptx_type_t)shape->a_type, last->a[0]);
        return last->a[0];
    }
#endif
    unpack_float_a(warp, fragments, (ptx_type_t)shape->a_type, a);
    return a;
}

/* Reads C in half precision: one register per group of rows. */
MMA_INLINE void read_half_sums(const ptx_warp_t *warp, const fragments_t *fragments, float (*c)[MMA_ROWS])
{
    uint32_t words[4][MMA_ROWS];
    read_columns(warp, fragments, fragments->c, 1, words[0]);
    for (int t = 0; t < 4; t++) {
        const uint16_t *halves = (const uint16_t *)(const void *)words[t];
        split_elements(words[t], 2);
        widen_f16(halves, MMA_ROWS, c[t]);
        widen_f16(halves + MMA_ROWS, MMA_ROWS, c[4 + t]);
    }
}

MMA_INLINE void write_half_sums(const ptx_warp_t *warp, const fragments_t *fragments, float (*d)[MMA_ROWS])
{
    uint32_t words[4][MMA_ROWS];
    for (int t = 0; t < 4; t++)
        for (int row = 0; row < MMA_ROWS; row++)
            words[t][row] = f32_to_f16(d[t][row]) | (uint32_t)f32_to_f16(d[4 + t][row]) << 16;
    write_columns(warp, fragments, fragments->d, 1, words[0]);
}

/* Returns whether one of `count` numbers is NaN; count is a multiple of 32. */
MMA_INLINE bool has_nan(const float *numbers, int count)
{
#ifdef __AVX512F__
    __mmask16 found = 0;
    for (int i = 0; i < count; i += 32)
        found = _mm512_kor(
            found, _mm512_cmp_ps_mask(_mm512_loadu_ps(numbers + i), _mm512_loadu_ps(numbers + i + 16), _CMP_UNORD_Q));
    return !_mm512_kortestz(found, found);
#else
    int found = 0;
    for (int i = 0; i < count; i++)
        found |= numbers[i] != numbers[i];
    return found != 0;
#endif
}

/* Writes D in single precision. NaN becomes the canonical one, which is rare and therefore done afterwards. */
MMA_INLINE void write_float_sums(const ptx_warp_t *warp, const fragments_t *fragments, float (*d)[MMA_ROWS])
{
    write_sums(warp, fragments, (const uint32_t *)(const void *)d);
    if (__builtin_expect(!has_nan(d[0], MMA_COLUMNS * MMA_ROWS), 1))
        return;
    for (int i = 0; i < 2 * fragments->row_groups; i++) {
        float *lanes = rungi_ptx_lanes(warp, fragments->d[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            lanes[lane] = canonical_f32(lanes[lane]);
    }
}

/* Executes a form with 16 rows. Inlined with shapes that are constants, and with the usual numbers of elements. */
MMA_INLINE void multiply_float_form(ptx_warp_t *warp, const ptx_instruction_t *instruction, ptx_matrix_shape_t shape)
{
    fragments_t fragments = find_fragments(instruction, &shape);
    floats_product_t product;
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) float a[MMA_DEPTH_MAX][MMA_ROWS];
    fragments.row_groups = 2;
    const float *columns = find_float_a(warp, &fragments, &shape, a[0]);
    unpack_float_b(warp, &fragments, (ptx_type_t)shape.b_type, product.b);
    forget_stores();
    if (shape.c_type == PTX_F16)
        read_half_sums(warp, &fragments, product.c);
    else
        read_sums(warp, &fragments, (uint32_t *)(void *)product.c);
    switch (fragments.per_word) {
    case 1: multiply_floats(&product, columns, fragments.blocks, 4); break;
    case 2: multiply_floats(&product, columns, fragments.blocks, 8); break;
    default: multiply_floats(&product, columns, fragments.blocks, 16); break;
    }
    if (shape.d_type == PTX_F16)
        write_half_sums(warp, &fragments, product.c);
    else
        write_float_sums(warp, &fragments, product.c);
}

EXECUTOR(mma_float)
{
    const ptx_matrix_shape_t halves = {16, 8, 16, PTX_F16, PTX_F16, PTX_F32, PTX_F32};
    const ptx_matrix_shape_t bf16 = {16, 8, 16, PTX_BF16, PTX_BF16, PTX_F32, PTX_F32};
    const ptx_matrix_shape_t tf32 = {16, 8, 8, PTX_TF32, PTX_TF32, PTX_F32, PTX_F32};
    (void)mask;
    if (instruction->offset == rungi_ptx_pack_shape(halves))
        multiply_float_form(warp, instruction, halves);
    else if (instruction->offset == rungi_ptx_pack_shape(bf16))
        multiply_float_form(warp, instruction, bf16);
    else if (instruction->offset == rungi_ptx_pack_shape(tf32))
        multiply_float_form(warp, instruction, tf32);
    else
        multiply_float_form(warp, instruction, rungi_ptx_unpack_shape(instruction->offset));
}

/* Sorts registers of doubles to columns. */
static inline void split_doubles(const double *low, const double *high, double to[4][MMA_ROWS])
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        to[lane % 4][lane / 4] = low[lane];
        to[lane % 4][lane / 4 + 8] = high[lane];
    }
}

EXECUTOR(mma_f64)
{
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    fragments_t fragments = find_fragments(instruction, &shape);
    int groups = fragments.row_groups;
    doubles_product_t product;
    double a[MMA_DEPTH_MAX][MMA_ROWS];
    (void)mask;
    for (int i = 0; i < fragments.blocks; i++) {
        const ptx_operand_t *registers = fragments.a + (size_t)(i * groups);
        split_doubles(rungi_ptx_lanes(warp, registers[0]),
                      groups == 2 ? rungi_ptx_lanes(warp, registers[1]) : (const void *)no_rows, a + 4 * (size_t)i);
        memcpy(product.b + (size_t)(i * PTX_WARP_LANES), rungi_ptx_lanes(warp, fragments.b[i]),
               PTX_WARP_LANES * sizeof(double));
    }
    for (int j = 0; j < 2; j++)
        split_doubles(rungi_ptx_lanes(warp, fragments.c[j]),
                      groups == 2 ? rungi_ptx_lanes(warp, fragments.c[2 + j]) : (const void *)no_rows,
                      product.c + 4 * (size_t)j);
    multiply_doubles(&product, a[0], fragments.blocks, 4);
    for (int i = 0; i < 2 * groups; i++) {
        double *d = rungi_ptx_lanes(warp, fragments.d[i]);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            d[lane] = product.c[i % 2 * 4 + lane % 4][lane / 4 + 8 * (i / 2)];
    }
}

/* ---- Integers ------------------------------------------------------------------------------------------------------ */

/* Unpacks `count` words to pairs: element p of the lower half of each word, and that of the upper half. The pairs of each p
 * are consecutive. The order of a sum of integers does not matter. */
MMA_INLINE void unpack_pairs(const uint32_t *words, int count, ptx_type_t type, int32_t *to)
{
    int bits = bits_of(type), right = 16 - bits;
    bool is_signed = type == PTX_S8 || type == PTX_S4;
    const uint16_t *halves = (const uint16_t *)(const void *)words;
    for (int p = 0; p < 16 / bits; p++) {
        uint16_t *pairs = (uint16_t *)(void *)(to + (size_t)(p * count));
        int left = right - bits * p;
        if (is_signed)
            for (int i = 0; i < 2 * count; i++)
                pairs[i] = (uint16_t)((int16_t)(uint16_t)(halves[i] << left) >> right);
        else
            for (int i = 0; i < 2 * count; i++)
                pairs[i] = (uint16_t)((uint16_t)(halves[i] << left) >> right);
    }
}

MMA_INLINE void multiply_as_pairs(const ptx_warp_t *warp, const fragments_t *fragments, const ptx_matrix_shape_t *shape,
                                  int32_t *c)
{
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) uint32_t words[4][MMA_ROWS];
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) int32_t a[MMA_DEPTH_MAX][MMA_ROWS];
    pairs_product_t product;
    int per_half = fragments->per_word / 2;
    for (int i = 0; i < fragments->blocks; i++) {
        read_columns(warp, fragments, fragments->a + (size_t)(i * fragments->row_groups), 1, words[0]);
        unpack_pairs(words[0], 4 * MMA_ROWS, (ptx_type_t)shape->a_type, a[(size_t)(4 * i * per_half)]);
        unpack_pairs(rungi_ptx_lanes(warp, fragments->b[i]), PTX_WARP_LANES, (ptx_type_t)shape->b_type,
                     product.b + (size_t)(i * per_half * PTX_WARP_LANES));
    }
    forget_stores();
    memcpy(product.c, c, sizeof product.c);
    multiply_pairs(&product, a[0], fragments->blocks * per_half, 4);
    memcpy(c, product.c, sizeof product.c);
}

#ifdef __AVX512VNNI__
/* Signed bytes of A are multiplied as unsigned ones, which are larger by 128. Subtracts 128 times the sums of B's columns. */
MMA_INLINE void subtract_offset(quads_product_t *product, int blocks)
{
    int32_t totals[PTX_WARP_LANES];
    for (int half = 0; half < PTX_WARP_LANES; half += 16) {
        __m512i sum = _mm512_setzero_si512();
        for (int i = 0; i < blocks; i++)
            sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8((char)0x80),
                                      _mm512_loadu_si512(product->b + (size_t)(i * PTX_WARP_LANES + half)));
        sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_CDAB));
        sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_BADC));
        _mm512_storeu_si512(totals + half, sum);
    }
    for (int v = 0; v < MMA_COLUMNS; v++) {
        __m512i offset = _mm512_set1_epi32(totals[4 * MMA_COLUMN(v)]);
        _mm512_storeu_si512(product->c[v], _mm512_sub_epi32(_mm512_loadu_si512(product->c[v]), offset));
    }
}

/* Multiplies four bytes at once. B is signed. */
MMA_INLINE void multiply_as_quads(const ptx_warp_t *warp, const fragments_t *fragments, bool is_a_signed, int32_t *c)
{
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) uint32_t a[MMA_DEPTH_MAX * MMA_ROWS];
    quads_product_t product;
    uint32_t flip = is_a_signed ? 0x80808080u : 0;
    for (int i = 0; i < fragments->blocks; i++) {
        uint32_t *columns = a + (size_t)(i * 4 * MMA_ROWS);
        read_columns(warp, fragments, fragments->a + (size_t)(i * fragments->row_groups), 1, columns);
        for (int j = 0; j < 4 * MMA_ROWS; j++)
            columns[j] ^= flip;
        memcpy(product.b + (size_t)(i * PTX_WARP_LANES), rungi_ptx_lanes(warp, fragments->b[i]),
               PTX_WARP_LANES * sizeof(int32_t));
    }
    forget_stores();
    memcpy(product.c, c, sizeof product.c);
    if (is_a_signed)
        subtract_offset(&product, fragments->blocks);
    multiply_quads(&product, (const int32_t *)a, fragments->blocks, 4);
    memcpy(c, product.c, sizeof product.c);
}
#endif

MMA_INLINE void add_integer_products(const ptx_warp_t *warp, const fragments_t *fragments,
                                     const ptx_matrix_shape_t *shape, int32_t *c)
{
#ifdef __AVX512VNNI__
    if (shape->b_type == PTX_S8) {
        multiply_as_quads(warp, fragments, shape->a_type == PTX_S8, c);
        return;
    }
#endif
    multiply_as_pairs(warp, fragments, shape, c);
}

/* The products' sum fits in 32 bits; adding C to it may not. */
static inline int32_t add_saturating(int32_t x, int32_t y)
{
    int64_t sum = (int64_t)x + y;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

MMA_INLINE void multiply_integer_form(const ptx_warp_t *warp, const ptx_instruction_t *instruction,
                                      ptx_matrix_shape_t shape)
{
    fragments_t fragments = find_fragments(instruction, &shape);
    _Alignas(PTX_LANE_ARRAY_ALIGNMENT) int32_t c[MMA_COLUMNS * MMA_ROWS], sum[MMA_COLUMNS * MMA_ROWS];
    bool saturates = instruction->flags & PTX_FLAG_SAT;
    read_sums(warp, &fragments, (uint32_t *)c);
    if (saturates)
        memset(sum, 0, sizeof sum);
    add_integer_products(warp, &fragments, &shape, saturates ? sum : c);
    for (int i = 0; saturates && i < MMA_COLUMNS * MMA_ROWS; i++)
        c[i] = add_saturating(c[i], sum[i]);
    write_sums(warp, &fragments, (const uint32_t *)c);
}

EXECUTOR(mma_integer)
{
    const ptx_matrix_shape_t bytes = {16, 8, 32, PTX_S8, PTX_S8, PTX_S32, PTX_S32};
    (void)mask;
    if (instruction->offset == rungi_ptx_pack_shape(bytes))
        multiply_integer_form(warp, instruction, bytes);
    else
        multiply_integer_form(warp, instruction, rungi_ptx_unpack_shape(instruction->offset));
}

PTX_EXECUTORS(mma) = {E(mma_float), E(mma_integer), E(mma_f64), {NULL, NULL}};
