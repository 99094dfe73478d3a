/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_dot.c - multiplies quantized rows of A by a quantized B with the dot products of AVX-512 VNNI. B is read once, as it
 * lies in memory: for few rows, memory limits the speed. */
#include "cpu/quantized/quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "base/ggml_blocks.h"
#include "core/matrix.h"

enum { COLUMNS = 2, GROUP_BLOCKS = RUNGI_QUANTIZED_GROUP_BLOCKS, HALF = RUNGI_QUANTIZED_BLOCK / 2 };

/* One group of a column of B: unsigned bytes, and the scale of each lane. */
typedef struct column_group {
    __m512i low, high;
    __m512 scale;
} column_group_t;

#define INLINE RUNGI_TARGET_AVX512_DOT static RUNGI_ALWAYS_INLINE

/* Loads 16 bytes of each of four blocks. */
INLINE __m512i load_quarters(const char *first, int64_t step)
{
    __m512i quarters = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)first));
    quarters = _mm512_inserti32x4(quarters, _mm_loadu_si128((const __m128i *)(const void *)(first + step)), 1);
    quarters = _mm512_inserti32x4(quarters, _mm_loadu_si128((const __m128i *)(const void *)(first + 2 * step)), 2);
    return _mm512_inserti32x4(quarters, _mm_loadu_si128((const __m128i *)(const void *)(first + 3 * step)), 3);
}

/* Widens 16 F16 numbers in the lower half. */
INLINE __m512 widen_scales(__m512i halves)
{
    return _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
}

/* The scales are 9 words apart. */
INLINE column_group_t load_q4_0(const char *blocks)
{
    const __m512i words = _mm512_castsi256_si512(
        _mm256_setr_epi16(0, 0, 0, 0, 9, 9, 9, 9, 18, 18, 18, 18, 27, 27, 27, 27));
    const __m512i nibble = _mm512_set1_epi8(15);
    __m512i pairs = load_quarters(blocks + offsetof(rungi_q4_0_block, pairs), sizeof(rungi_q4_0_block));
    return (column_group_t){_mm512_and_si512(pairs, nibble), _mm512_and_si512(_mm512_srli_epi16(pairs, 4), nibble),
                            widen_scales(_mm512_permutexvar_epi16(words, _mm512_loadu_si512(blocks)))};
}

/* The scales are 17 words apart; words from 32 on come from the second vector. */
INLINE column_group_t load_q8_0(const char *blocks)
{
    const __m512i words = _mm512_castsi256_si512(
        _mm256_setr_epi16(0, 0, 0, 0, 17, 17, 17, 17, 34, 34, 34, 34, 51, 51, 51, 51));
    const __m512i sign = _mm512_set1_epi8((char)128);
    const char *elements = blocks + offsetof(rungi_q8_0_block, elements);
    return (column_group_t){
        _mm512_xor_si512(load_quarters(elements, sizeof(rungi_q8_0_block)), sign),
        _mm512_xor_si512(load_quarters(elements + HALF, sizeof(rungi_q8_0_block)), sign),
        widen_scales(_mm512_permutex2var_epi16(_mm512_loadu_si512(blocks), words, _mm512_loadu_si512(blocks + 64)))};
}

INLINE column_group_t load_group(rung_type type, const char *blocks)
{
    return type == RUNG_Q4_0 ? load_q4_0(blocks) : load_q8_0(blocks);
}

/* Adds the products of one group of a row and a column. The sums of blocks are exact integers. */
INLINE __m512 add_group(__m512 sum, const rungi_quantized_group *row, const column_group_t *column)
{
    __m512i dots = _mm512_loadu_si512(row->correction);
    dots = _mm512_dpbusd_epi32(dots, column->low, _mm512_loadu_si512(row->low));
    dots = _mm512_dpbusd_epi32(dots, column->high, _mm512_loadu_si512(row->high));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), _mm512_mul_ps(column->scale, _mm512_loadu_ps(row->scale)), sum);
}

INLINE void add_groups(int rows, rung_type type, const rungi_quantized_group *a, const char *left, const char *right,
                       __m512 (*sums)[COLUMNS])
{
    column_group_t columns[COLUMNS] = {load_group(type, left), load_group(type, right)};
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            sums[r][c] = add_group(sums[r][c], a + r, &columns[c]);
}

/* The last group may have fewer than four blocks: nothing behind them may be read. */
INLINE void add_last_group(int rows, rung_type type, const rungi_quantized_group *a, const char *const *columns,
                           int64_t offset, int64_t bytes, __m512 (*sums)[COLUMNS])
{
    char blocks[COLUMNS][GROUP_BLOCKS * sizeof(rungi_q8_0_block)];
    memset(blocks, 0, sizeof blocks);
    for (int c = 0; c < COLUMNS; c++)
        memcpy(blocks[c], columns[c] + offset, (size_t)bytes);
    add_groups(rows, type, a, blocks[0], blocks[1], sums);
}

/* Multiplies by both columns, and prefetches the columns after them. */
INLINE void dot(int rows, rung_type type, int64_t blocks, const rungi_quantized_group *a, int64_t group_rows,
                const char *const *columns, float *to, int64_t to_stride)
{
    const int64_t block = type == RUNG_Q4_0 ? sizeof(rungi_q4_0_block) : sizeof(rungi_q8_0_block);
    const int64_t step = GROUP_BLOCKS * block, end = blocks / GROUP_BLOCKS * step;
    const int64_t ahead = 2 * (columns[1] - columns[0]);
    __m512 sums[RUNGI_QUANTIZED_MAX_ROWS][COLUMNS];
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            sums[r][c] = _mm512_setzero_ps();
    for (int64_t offset = 0; offset < end; offset += step, a += group_rows) {
        for (int64_t line = 0; line < step; line += 64) {
            _mm_prefetch(columns[0] + ahead + offset + line, _MM_HINT_T0);
            _mm_prefetch(columns[1] + ahead + offset + line, _MM_HINT_T0);
        }
        add_groups(rows, type, a, columns[0] + offset, columns[1] + offset, sums);
    }
    if (blocks % GROUP_BLOCKS != 0)
        add_last_group(rows, type, a, columns, end, blocks % GROUP_BLOCKS * block, sums);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            to[r * to_stride + c] = _mm512_reduce_add_ps(sums[r][c]);
}

/* One function per number of rows, whose sums the compiler keeps in registers. */
#define DOT_ROWS(type, rows)                                                                                           \
    RUNGI_TARGET_AVX512_DOT static void dot_##type##_##rows(int64_t blocks, const rungi_quantized_group *a,            \
                                                            int64_t group_rows, const char *const *columns, float *to, \
                                                            int64_t to_stride)                                         \
    {                                                                                                                  \
        dot(rows, RUNG_##type, blocks, a, group_rows, columns, to, to_stride);                                         \
    }
#define DOT_TYPE(type) \
    DOT_ROWS(type, 1)  \
    DOT_ROWS(type, 2)  \
    DOT_ROWS(type, 3) DOT_ROWS(type, 4) DOT_ROWS(type, 5) DOT_ROWS(type, 6) DOT_ROWS(type, 7) DOT_ROWS(type, 8)
DOT_TYPE(Q8_0)
DOT_TYPE(Q4_0)

typedef void dot_function_t(int64_t blocks, const rungi_quantized_group *a, int64_t group_rows,
                            const char *const *columns, float *to, int64_t to_stride);

#define NAMES(type)                                                                                     \
    {                                                                                                   \
        dot_##type##_1, dot_##type##_2, dot_##type##_3, dot_##type##_4, dot_##type##_5, dot_##type##_6, \
            dot_##type##_7, dot_##type##_8                                                              \
    }

void rungi_quantized_dot(rung_type b_type, int64_t rows, int64_t blocks, const rungi_quantized_group *rows_of_a,
                         int64_t group_rows, const char *const columns[2], float *sums, int64_t sums_stride)
{
    static dot_function_t *const functions[2][RUNGI_QUANTIZED_MAX_ROWS] = {NAMES(Q8_0), NAMES(Q4_0)};
    functions[b_type == RUNG_Q4_0][rows - 1](blocks, rows_of_a, group_rows, columns, sums, sums_stride);
}
#endif
