/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_packed.c - packs a quantized B, and multiplies rows of A by it. See quantized_packed.h for the layout. */
#include "cpu/quantized/quantized_packed.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/ggml_blocks.h"
#include "core/matrix.h"
#include "cpu/microkernels/transpose_avx512.h"

enum {
    PANEL = RUNGI_QUANTIZED_PANEL,
    BLOCK = RUNGI_QUANTIZED_BLOCK,
    VECTOR = 64,
    WORD = 4, /* bytes per lane */
    SCALES = PANEL * (int)sizeof(uint16_t),
    PREFETCH_BYTES = 8192
};

#define INLINE RUNGI_TARGET_AVX512_DOT static RUNGI_ALWAYS_INLINE

/* ---- Layout ------------------------------------------------------------------------------------------------------ */

static int64_t vectors_per_block(rung_type type)
{
    return type == RUNG_Q4_0 ? BLOCK / 2 / WORD : BLOCK / WORD;
}

/* Returns the bytes of a panel's scales, with padding. */
static int64_t scales_bytes(int64_t k)
{
    return rungi_round_up(k / BLOCK * SCALES, VECTOR);
}

static int64_t panel_bytes(rung_type type, int64_t k)
{
    return scales_bytes(k) + k / BLOCK * vectors_per_block(type) * VECTOR;
}

bool rungi_quantized_packed_bytes(rung_type b_type, int64_t n, int64_t k, int64_t *bytes)
{
    const int64_t largest_k = (int64_t)1 << 56;
    return k <= largest_k && rungi_checked_multiply(rungi_ceil_divide(n, PANEL), panel_bytes(b_type, k), bytes);
}

static const char *panel_at(const rungi_cpu_job *job, int64_t col)
{
    return job->packed + col / PANEL * panel_bytes(job->b_type, job->k);
}

INLINE __m512 load_scales(const char *panel, int64_t block)
{
    return _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)(panel + block * SCALES)));
}

/* ---- Packing ------------------------------------------------------------------------------------------------------- */

/* Copies the words of one block to their lanes. */
static void pack_block(rung_type type, const char *block, char *to)
{
    const uint8_t flip = type == RUNG_Q4_0 ? 0 : 0x80; /* adds 128 */
    for (int64_t q = 0; q < vectors_per_block(type); q++)
        for (int64_t i = 0; i < WORD; i++)
            to[q * VECTOR + i] = (char)((uint8_t)block[sizeof(uint16_t) + (size_t)(q * WORD + i)] ^ flip);
}

static void pack_panel(const rungi_cpu_job *job, int64_t col, char *panel)
{
    int64_t blocks = job->k / BLOCK, step = vectors_per_block(job->b_type) * VECTOR;
    char *elements = panel + scales_bytes(job->k);
    memset(panel, 0, (size_t)panel_bytes(job->b_type, job->k));
    for (int64_t c = 0; c < PANEL && col + c < job->n; c++) {
        const char *from = (const char *)job->b.first + rungi_type_bytes(job->b_type, (col + c) * job->b.col_stride);
        for (int64_t b = 0; b < blocks; b++, from += rung_type_block_bytes(job->b_type)) {
            memcpy(panel + b * SCALES + c * (int64_t)sizeof(uint16_t), from, sizeof(uint16_t));
            pack_block(job->b_type, from, elements + b * step + c * WORD);
        }
    }
}

void rungi_quantized_pack(const rungi_cpu_job *job, char *packed)
{
    for (int64_t col = 0; col < job->n; col += PANEL, packed += panel_bytes(job->b_type, job->k))
        pack_panel(job, col, packed);
}

RUNGI_TARGET_AVX512_DOT void rungi_quantized_unpack_blocks(const rungi_cpu_job *job, int64_t col, int64_t block,
                                                           int64_t blocks, __m512i columns[16], float *scales)
{
    const __m512i flip = _mm512_set1_epi8(job->b_type == RUNG_Q4_0 ? 0 : (char)0x80); /* subtracts 128 */
    const char *panel = panel_at(job, col);
    int64_t vectors = vectors_per_block(job->b_type);
    const char *elements = panel + scales_bytes(job->k) + block * vectors * VECTOR;
    for (int64_t i = 0; i < PANEL; i++)
        columns[i] = i < blocks * vectors ? _mm512_xor_si512(_mm512_load_si512(elements + i * VECTOR), flip)
                                          : _mm512_setzero_si512();
    rungi_transpose_16x16(columns);
    for (int64_t b = 0; b < blocks; b++)
        _mm512_store_ps(scales + b * PANEL, load_scales(panel, block + b));
}

/* Restores one block. Signed elements lack the offset that packing added. */
INLINE void unpack_vectors(rung_type type, bool is_signed, const char *elements, int8_t *to)
{
    const __m512i nibble = _mm512_set1_epi8(15), offset = _mm512_set1_epi8(is_signed ? 8 : 0);
    const __m512i flip = _mm512_set1_epi8(is_signed ? (char)0x80 : 0);
    for (int q = 0; q < (type == RUNG_Q4_0 ? 4 : 8); q++) {
        __m512i vector = _mm512_load_si512(elements + q * VECTOR);
        if (type == RUNG_Q8_0) {
            _mm512_store_si512(to + q * VECTOR, _mm512_xor_si512(vector, flip));
            continue;
        }
        __m512i low = _mm512_and_si512(vector, nibble), high = _mm512_and_si512(_mm512_srli_epi16(vector, 4), nibble);
        _mm512_store_si512(to + q * VECTOR, _mm512_sub_epi8(low, offset));
        _mm512_store_si512(to + (q + 4) * VECTOR, _mm512_sub_epi8(high, offset));
    }
}

INLINE void unpack_panel(rung_type type, bool is_signed, const rungi_cpu_job *job, int64_t col, int64_t block,
                         int64_t blocks, rungi_quantized_vectors *to)
{
    const char *panel = panel_at(job, col);
    int64_t step = vectors_per_block(type) * VECTOR;
    const char *elements = panel + scales_bytes(job->k) + block * step;
    for (int64_t b = 0; b < blocks; b++, elements += step) {
        for (int64_t line = 0; line < step; line += VECTOR)
            _mm_prefetch(elements + PREFETCH_BYTES + line, _MM_HINT_T0);
        unpack_vectors(type, is_signed, elements, to[b].elements);
        _mm512_store_ps(to[b].scales, load_scales(panel, block + b));
    }
}

RUNGI_TARGET_AVX512_DOT void rungi_quantized_unpack_vectors(const rungi_cpu_job *job, int64_t col, int64_t block,
                                                            int64_t blocks, rungi_quantized_vectors *to)
{
    if (job->b_type == RUNG_Q8_0)
        unpack_panel(RUNG_Q8_0, true, job, col, block, blocks, to);
    else
        unpack_panel(RUNG_Q4_0, true, job, col, block, blocks, to);
}

RUNGI_TARGET_AVX512_DOT void rungi_quantized_unpack_unsigned(const rungi_cpu_job *job, int64_t col, int64_t block,
                                                             int64_t blocks, rungi_quantized_vectors *to)
{
    if (job->b_type == RUNG_Q8_0)
        unpack_panel(RUNG_Q8_0, false, job, col, block, blocks, to);
    else
        unpack_panel(RUNG_Q4_0, false, job, col, block, blocks, to);
}

/* ---- Dot products --------------------------------------------------------------------------------------------------- */

/* Broadcasts the bytes of A that belong to word `q` of a block. */
INLINE __m512i broadcast_word(const int8_t *bytes, int64_t q)
{
    int32_t word;
    memcpy(&word, bytes + q * WORD, sizeof word);
    return _mm512_set1_epi32(word);
}

/* Loads a block of the panel: words 0 to 3 of each column in `low`, 4 to 7 in `high`. */
INLINE void load_block(rung_type type, const char *elements, __m512i *low, __m512i *high)
{
    const __m512i nibble = _mm512_set1_epi8(15);
    for (int q = 0; q < 4; q++) {
        __m512i vector = _mm512_load_si512(elements + q * VECTOR);
        low[q] = type == RUNG_Q4_0 ? _mm512_and_si512(vector, nibble) : vector;
        high[q] = type == RUNG_Q4_0 ? _mm512_and_si512(_mm512_srli_epi16(vector, 4), nibble)
                                    : _mm512_load_si512(elements + (q + 4) * VECTOR);
    }
}

/* Adds the products of block `b` of a group of a row. */
INLINE __m512 add_block(__m512 sum, const rungi_quantized_group *row, int64_t b, const __m512i *low,
                        const __m512i *high, __m512 scales)
{
    __m512i dots = _mm512_set1_epi32(row->correction[4 * b]), others = _mm512_setzero_si512();
    for (int q = 0; q < 4; q++) {
        dots = _mm512_dpbusd_epi32(dots, low[q], broadcast_word(row->low + b * BLOCK / 2, q));
        others = _mm512_dpbusd_epi32(others, high[q], broadcast_word(row->high + b * BLOCK / 2, q));
    }
    __m512 products = _mm512_cvtepi32_ps(_mm512_add_epi32(dots, others));
    return _mm512_fmadd_ps(products, _mm512_mul_ps(scales, _mm512_set1_ps(row->scale[4 * b])), sum);
}

INLINE void dot(int rows, rung_type type, int64_t blocks, const char *scales, const char *elements,
                const rungi_quantized_group *a, int64_t group_rows, float *to, int64_t to_stride)
{
    const int64_t step = (type == RUNG_Q4_0 ? 4 : 8) * VECTOR;
    __m512 sums[RUNGI_QUANTIZED_MAX_ROWS];
    for (int r = 0; r < rows; r++)
        sums[r] = _mm512_setzero_ps();
    for (int64_t block = 0; block < blocks; block++, elements += step) {
        const rungi_quantized_group *group = a + block / RUNGI_QUANTIZED_GROUP_BLOCKS * group_rows;
        int64_t b = block % RUNGI_QUANTIZED_GROUP_BLOCKS;
        __m512i low[4], high[4];
        for (int64_t line = 0; line < step; line += VECTOR)
            _mm_prefetch(elements + PREFETCH_BYTES + line, _MM_HINT_T0);
        load_block(type, elements, low, high);
        __m512 scale = load_scales(scales, block);
        for (int r = 0; r < rows; r++)
            sums[r] = add_block(sums[r], group + r, b, low, high, scale);
    }
    for (int r = 0; r < rows; r++)
        _mm512_storeu_ps(to + r * to_stride, sums[r]);
}

#define DOT_ROWS(type, rows)                                                                                          \
    RUNGI_TARGET_AVX512_DOT static void dot_##type##_##rows(int64_t blocks, const char *scales, const char *elements, \
                                                            const rungi_quantized_group *a, int64_t group_rows,       \
                                                            float *to, int64_t to_stride)                             \
    {                                                                                                                 \
        dot(rows, RUNG_##type, blocks, scales, elements, a, group_rows, to, to_stride);                               \
    }
#define DOT_TYPE(type) \
    DOT_ROWS(type, 1)  \
    DOT_ROWS(type, 2)  \
    DOT_ROWS(type, 3) DOT_ROWS(type, 4) DOT_ROWS(type, 5) DOT_ROWS(type, 6) DOT_ROWS(type, 7) DOT_ROWS(type, 8)
DOT_TYPE(Q8_0)
DOT_TYPE(Q4_0)

typedef void dot_function_t(int64_t blocks, const char *scales, const char *elements, const rungi_quantized_group *a,
                            int64_t group_rows, float *to, int64_t to_stride);

#define NAMES(type)                                                                                     \
    {                                                                                                   \
        dot_##type##_1, dot_##type##_2, dot_##type##_3, dot_##type##_4, dot_##type##_5, dot_##type##_6, \
            dot_##type##_7, dot_##type##_8                                                              \
    }

void rungi_quantized_packed_dot(const rungi_cpu_job *job, int64_t col, int64_t rows,
                                const rungi_quantized_group *rows_of_a, int64_t group_rows, float *sums,
                                int64_t sums_stride)
{
    static dot_function_t *const functions[2][RUNGI_QUANTIZED_MAX_ROWS] = {NAMES(Q8_0), NAMES(Q4_0)};
    const char *panel = panel_at(job, col);
    functions[job->b_type == RUNG_Q4_0][rows - 1](job->k / BLOCK, panel, panel + scales_bytes(job->k), rows_of_a,
                                                  group_rows, sums, sums_stride);
}
#endif
