/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_dot_avx2.c - multiplies quantized rows of A by a quantized B with AVX2, for processors without AVX-512 VNNI. See
 * quantized_dot.c.
 *
 * The instruction multiplies unsigned by signed bytes and adds pairs as 16-bit integers. The sign of an element of B is therefore
 * moved to the element of A: products of magnitudes of at most 128 and 127 cannot overflow. */
#include "cpu/quantized/quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/ggml_blocks.h"
#include "core/matrix.h"

enum { COLUMNS = 2, TILE_ROWS = 4, GROUP_BLOCKS = RUNGI_QUANTIZED_GROUP_BLOCKS, HALF = RUNGI_QUANTIZED_BLOCK / 2 };

/* One block of a column of B. */
typedef struct column_block {
    __m256i elements, magnitudes;
    __m256 scale;
} column_block_t;

#define INLINE RUNGI_TARGET_AVX2 static RUNGI_ALWAYS_INLINE

INLINE __m128i load_half(const void *from)
{
    return _mm_loadu_si128(from);
}

INLINE __m256i load_elements(rung_type type, const char *bytes)
{
    if (type == RUNG_Q8_0)
        return _mm256_loadu_si256(
            (const __m256i *)(const void *)((const rungi_q8_0_block *)(const void *)bytes)->elements);
    __m128i pairs = load_half(((const rungi_q4_0_block *)(const void *)bytes)->pairs);
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(pairs), _mm_srli_epi16(pairs, 4), 1);
    return _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), _mm256_set1_epi8(8));
}

INLINE column_block_t load_block(rung_type type, const char *bytes)
{
    uint16_t scale;
    memcpy(&scale, bytes, sizeof scale);
    __m256i elements = load_elements(type, bytes);
    return (column_block_t){elements, _mm256_abs_epi8(elements), _mm256_set1_ps(_cvtsh_ss(scale))};
}

/* Adds the products of block b of a group of a row. Each lane has the exact sum of four products. */
INLINE __m256 add_block(__m256 sum, const rungi_quantized_group *row, int64_t b, const column_block_t *column)
{
    __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(row->low + b * HALF)),
                                        load_half(row->high + b * HALF), 1);
    __m256i pairs = _mm256_maddubs_epi16(column->magnitudes, _mm256_sign_epi8(a, column->elements));
    __m256 products = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    return _mm256_fmadd_ps(products, _mm256_mul_ps(column->scale, _mm256_set1_ps(row->scale[4 * b])), sum);
}

INLINE float add_lanes(__m256 sum)
{
    __m128 quarters = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    __m128 pairs = _mm_add_ps(quarters, _mm_movehl_ps(quarters, quarters));
    return _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)));
}

/* Multiplies by both columns, and prefetches the columns after them. */
INLINE void dot(int rows, rung_type type, int64_t blocks, const rungi_quantized_group *a, int64_t group_rows,
                const char *const *columns, float *to, int64_t to_stride)
{
    const int64_t size = type == RUNG_Q4_0 ? sizeof(rungi_q4_0_block) : sizeof(rungi_q8_0_block);
    const int64_t ahead = 2 * (columns[1] - columns[0]);
    __m256 sums[TILE_ROWS][COLUMNS];
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            sums[r][c] = _mm256_setzero_ps();
    for (int64_t block = 0; block < blocks; block++) {
        const rungi_quantized_group *group = a + block / GROUP_BLOCKS * group_rows;
        const char *left = columns[0] + block * size, *right = columns[1] + block * size;
        column_block_t column_blocks[COLUMNS] = {load_block(type, left), load_block(type, right)};
        _mm_prefetch(left + ahead, _MM_HINT_T0);
        _mm_prefetch(right + ahead, _MM_HINT_T0);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < COLUMNS; c++)
                sums[r][c] = add_block(sums[r][c], group + r, block % GROUP_BLOCKS, &column_blocks[c]);
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            to[r * to_stride + c] = add_lanes(sums[r][c]);
}

/* One function per number of rows, whose sums the compiler keeps in registers. */
#define DOT_ROWS(type, rows)                                                                                     \
    RUNGI_TARGET_AVX2 static void dot_##type##_##rows(int64_t blocks, const rungi_quantized_group *a,            \
                                                      int64_t group_rows, const char *const *columns, float *to, \
                                                      int64_t to_stride)                                         \
    {                                                                                                            \
        dot(rows, RUNG_##type, blocks, a, group_rows, columns, to, to_stride);                                   \
    }
#define DOT_TYPE(type) DOT_ROWS(type, 1) DOT_ROWS(type, 2) DOT_ROWS(type, 3) DOT_ROWS(type, 4)
DOT_TYPE(Q8_0)
DOT_TYPE(Q4_0)

typedef void dot_function_t(int64_t blocks, const rungi_quantized_group *a, int64_t group_rows,
                            const char *const *columns, float *to, int64_t to_stride);

void rungi_quantized_dot_avx2(rung_type b_type, int64_t rows, int64_t blocks, const rungi_quantized_group *rows_of_a,
                              int64_t group_rows, const char *const columns[2], float *sums, int64_t sums_stride)
{
    static dot_function_t *const functions[2][TILE_ROWS] = {{dot_Q8_0_1, dot_Q8_0_2, dot_Q8_0_3, dot_Q8_0_4},
                                                            {dot_Q4_0_1, dot_Q4_0_2, dot_Q4_0_3, dot_Q4_0_4}};
    for (int64_t r = 0; r < rows; r += TILE_ROWS)
        functions[b_type == RUNG_Q4_0][rungi_min(rows - r, TILE_ROWS) - 1](blocks, rows_of_a + r, group_rows, columns,
                                                                           sums + r * sums_stride, sums_stride);
}
#endif
