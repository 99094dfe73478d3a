/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_panels.c - multiplies many rows of A, rounded to 8-bit integers, by a quantized B with the dot products of AVX-512 VNNI.
 *
 * 32 columns of B and a slice of k are interleaved in L1: a lane of a vector is a column, so one sum per column needs no
 * reduction, and the scales of 16 columns are one vector. All rows of A are multiplied by such a slice before the next one is
 * prepared. The slice of A stays in L2. A register tile has 6 rows and 32 columns: each word of A is broadcast once for two
 * dot products. The sum of a block is an exact integer; the sums of blocks are added as F32 in the order of k. */
#include "cpu/quantized/quantized_panels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/ggml_blocks.h"
#include "core/matrix.h"
#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/microkernels/transpose_avx512.h"
#include "cpu/quantized/quantized_packed.h"

enum {
    BLOCK = RUNGI_QUANTIZED_BLOCK,
    GROUP_BLOCKS = RUNGI_QUANTIZED_GROUP_BLOCKS,
    LANES = RUNGI_QUANTIZED_PANEL, /* columns per panel */
    PANELS = 2,                    /* panels per register tile */
    TILE_ROWS = 6,
    VECTOR = 64,
    WORD = 4, /* elements along k per lane */
    WORDS = BLOCK / WORD,
    SLICE_GROUPS = 4, /* groups of k per slice: two panels fit half of an L1 of 32 KiB */
    SLICE_BLOCKS = SLICE_GROUPS * GROUP_BLOCKS,
    COLUMNS = RUNGI_QUANTIZED_PANELS_COLUMNS,
    MIN_ROWS = 16
};

#define INLINE RUNGI_TARGET_AVX512_DOT static RUNGI_ALWAYS_INLINE

/* One slice of B: unsigned elements, to which 8 or 128 was added, with the scales of each block. */
typedef struct slice {
    rungi_quantized_vectors panels[PANELS][SLICE_BLOCKS];
} slice_t;

typedef struct panels_run {
    const rungi_cpu_job *job;
    int64_t i, rows;          /* the current rows of A */
    rungi_quantized_group *a; /* group g of row r is a[g * rows + r] */
    float *sums;              /* rows x COLUMNS */
    slice_t *slice;
} panels_run_t;

/* ---- Memory -------------------------------------------------------------------------------------------------------- */

static int64_t group_count(int64_t k)
{
    return rungi_ceil_divide(k, RUNGI_QUANTIZED_GROUP);
}

/* A slice of A stays in half of L2, and the whole A in the thread's share of L3. The passes are about equally large. */
int64_t rungi_quantized_panels_rows(const rungi_cpu_job *job, int64_t rows)
{
    const rungi_cpu_block_sizes *blocks = &job->features->blocks;
    int64_t in_l2 = blocks->half_l2 / (SLICE_GROUPS * (int64_t)sizeof(rungi_quantized_group));
    int64_t in_l3 = blocks->l3_share / (int64_t)sizeof(rungi_quantized_group) / rungi_max(group_count(job->k), 1);
    int64_t most = rungi_max(rungi_min(in_l2, in_l3), MIN_ROWS), passes = rungi_ceil_divide(rungi_max(rows, 1), most);
    return rungi_round_up(rungi_ceil_divide(rungi_max(rows, 1), passes), TILE_ROWS);
}

bool rungi_quantized_panels_scratch_bytes(int64_t rows, int64_t k, int64_t *bytes)
{
    int64_t row_bytes, others = (int64_t)sizeof(slice_t) + rows * COLUMNS * (int64_t)sizeof(float);
    return rungi_checked_multiply(group_count(k), sizeof(rungi_quantized_group), &row_bytes) &&
           rungi_checked_multiply(row_bytes, rows, bytes) && rungi_checked_add(*bytes, others, bytes);
}

/* ---- B ------------------------------------------------------------------------------------------------------------- */

/* Splits four bytes per lane into words q and q + 4 of a Q4_0 block. */
INLINE void store_nibbles(__m512i pairs, uint8_t *to)
{
    const __m512i nibble = _mm512_set1_epi8(15);
    _mm512_store_si512(to, _mm512_and_si512(pairs, nibble));
    _mm512_store_si512(to + WORDS / 2 * VECTOR, _mm512_and_si512(_mm512_srli_epi16(pairs, 4), nibble));
}

/* Loads the elements of two blocks of a column of Q8_0, or of one, followed by zeros. */
INLINE __m512i load_q8_0(const rungi_q8_0_block *from, int64_t blocks)
{
    __m512i first = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)from->elements));
    return blocks < 2
               ? first
               : _mm512_inserti64x4(first, _mm256_loadu_si256((const __m256i *)(const void *)from[1].elements), 1);
}

/* Loads the elements of up to four blocks of a column of Q4_0, followed by zeros. */
INLINE __m512i load_q4_0(const rungi_q4_0_block *from, int64_t blocks)
{
    __m128i quarters[GROUP_BLOCKS];
    for (int64_t b = 0; b < GROUP_BLOCKS; b++)
        quarters[b] = b < blocks ? _mm_loadu_si128((const __m128i *)(const void *)from[b].pairs) : _mm_setzero_si128();
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarters[0]), quarters[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarters[2]), quarters[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Interleaves `blocks` blocks of 16 columns; `columns` are the addresses of the first. */
INLINE void interleave_blocks(rung_type type, const char *const *columns, int64_t blocks, rungi_quantized_vectors *to)
{
    const int64_t size = type == RUNG_Q8_0 ? sizeof(rungi_q8_0_block) : sizeof(rungi_q4_0_block);
    const int64_t vectors = type == RUNG_Q8_0 ? WORDS : WORDS / 2; /* per block */
    _Alignas(32) uint16_t scales[GROUP_BLOCKS][LANES];
    __m512i words[LANES];
    for (int64_t c = 0; c < LANES; c++) {
        words[c] = type == RUNG_Q8_0 ? load_q8_0((const void *)columns[c], blocks)
                                     : load_q4_0((const void *)columns[c], blocks);
        for (int64_t b = 0; b < blocks; b++)
            memcpy(&scales[b][c], columns[c] + b * size, sizeof scales[b][c]);
    }
    rungi_transpose_16x16(words);
    for (int64_t b = 0; b < blocks; b++) {
        uint8_t *elements = (uint8_t *)to[b].elements;
        for (int64_t q = 0; q < vectors; q++)
            if (type == RUNG_Q8_0)
                _mm512_store_si512(elements + q * VECTOR,
                                   _mm512_xor_si512(words[b * vectors + q], _mm512_set1_epi8((char)0x80)));
            else
                store_nibbles(words[b * vectors + q], elements + q * VECTOR);
        _mm512_store_ps(to[b].scales, _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)scales[b])));
    }
}

/* Interleaves blocks of 16 columns, and prefetches what lies `next` bytes further. */
INLINE void interleave_panel(rung_type type, const char *const *first, int64_t blocks, int64_t next,
                             rungi_quantized_vectors *to)
{
    const int64_t size = type == RUNG_Q8_0 ? sizeof(rungi_q8_0_block) : sizeof(rungi_q4_0_block);
    const int64_t step = type == RUNG_Q8_0 ? 2 : 4;
    const char *columns[LANES];
    memcpy(columns, first, sizeof columns);
    for (int64_t b = 0; b < blocks; b += step) {
        if (b + step <= blocks) /* a constant number of blocks, for the compiler */
            interleave_blocks(type, columns, step, to + b);
        else
            interleave_blocks(type, columns, blocks - b, to + b);
        for (int64_t c = 0; c < LANES; c++) {
            _mm_prefetch(columns[c] + next, _MM_HINT_T0);
            columns[c] += step * size;
        }
    }
}

/* Prepares 16 columns of a B as it lies in memory. Columns outside B repeat the last one: their sums are not used. */
RUNGI_TARGET_AVX512_DOT static void prepare_plain(const rungi_cpu_job *job, int64_t j, int64_t block, int64_t blocks,
                                                  int64_t next, rungi_quantized_vectors *to)
{
    const char *columns[LANES];
    for (int64_t c = 0; c < LANES; c++) {
        int64_t column = rungi_min(j + c, job->n - 1);
        columns[c] = (const char *)job->b.first +
                     rungi_type_bytes(job->b_type, column * job->b.col_stride + block * BLOCK);
    }
    if (job->b_type == RUNG_Q8_0)
        interleave_panel(RUNG_Q8_0, columns, blocks, next, to);
    else
        interleave_panel(RUNG_Q4_0, columns, blocks, next, to);
}

/* Returns how many bytes after the slice at `block` and column c of `cols` the next one begins: 32 columns further, or further
 * along k, or in the next columns of sums. */
static int64_t next_slice(const panels_run_t *run, int64_t c, int64_t cols, int64_t block)
{
    const rungi_cpu_job *job = run->job;
    int64_t column_bytes = rungi_type_bytes(job->b_type, job->b.col_stride);
    if (c + PANELS * LANES < cols)
        return PANELS * LANES * column_bytes;
    if (block + SLICE_BLOCKS < job->k / BLOCK)
        return rungi_type_bytes(job->b_type, SLICE_BLOCKS * BLOCK) - c * column_bytes;
    return (COLUMNS - c) * column_bytes - rungi_type_bytes(job->b_type, block * BLOCK);
}

/* Prepares a slice of two panels from column j on. The next slice begins `next` bytes further. */
static void prepare_slice(const panels_run_t *run, int64_t j, int64_t block, int64_t blocks, int64_t next)
{
    for (int64_t panel = 0; panel < PANELS && j + panel * LANES < run->job->n; panel++) {
        rungi_quantized_vectors *to = run->slice->panels[panel];
        if (run->job->packed)
            rungi_quantized_unpack_unsigned(run->job, run->job->first_col + j + panel * LANES, block, blocks, to);
        else
            prepare_plain(run->job, j + panel * LANES, block, blocks, next, to);
    }
}

/* ---- Dot products -------------------------------------------------------------------------------------------------- */

INLINE __m512i broadcast_word(const int8_t *bytes)
{
    int32_t word;
    memcpy(&word, bytes, sizeof word);
    return _mm512_set1_epi32(word);
}

/* Adds the products of word q of a block. The word of the first row is at `word`. */
INLINE void add_words(int rows, const slice_t *slice, int64_t block, int q, const int8_t *word, __m512i (*dots)[PANELS])
{
    __m512i words[PANELS];
    for (int p = 0; p < PANELS; p++)
        words[p] = _mm512_load_si512(slice->panels[p][block].elements + q * VECTOR);
    for (int r = 0; r < rows; r++) {
        __m512i of_row = broadcast_word(word + r * (int64_t)sizeof(rungi_quantized_group));
        for (int p = 0; p < PANELS; p++)
            dots[r][p] = _mm512_dpbusd_epi32(dots[r][p], words[p], of_row);
    }
}

/* Adds the products of a block of each row with a block of both panels. Rows are interleaved, because a dot product must wait for
 * the one before it in the same sum. */
INLINE void add_block(int rows, const rungi_quantized_group *group, int64_t b, const slice_t *slice, int64_t block,
                      __m512 (*sums)[PANELS])
{
    __m512i dots[TILE_ROWS][PANELS];
    for (int r = 0; r < rows; r++)
        dots[r][0] = dots[r][1] = _mm512_set1_epi32(group[r].correction[WORD * b]);
#pragma GCC unroll 4
    for (int q = 0; q < WORDS / 2; q++)
        add_words(rows, slice, block, q, &group[0].low[b * BLOCK / 2 + q * WORD], dots);
#pragma GCC unroll 4
    for (int q = 0; q < WORDS / 2; q++)
        add_words(rows, slice, block, WORDS / 2 + q, &group[0].high[b * BLOCK / 2 + q * WORD], dots);
    for (int p = 0; p < PANELS; p++) {
        __m512 scales = _mm512_load_ps(slice->panels[p][block].scales);
        for (int r = 0; r < rows; r++)
            sums[r][p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[r][p]),
                                         _mm512_mul_ps(scales, _mm512_set1_ps(group[r].scale[WORD * b])), sums[r][p]);
    }
}

/* Adds the products of up to TILE_ROWS rows with a slice. */
INLINE void add_rows(int rows, const rungi_quantized_group *a, int64_t group_rows, const slice_t *slice, int64_t blocks,
                     float *to)
{
    __m512 sums[TILE_ROWS][PANELS];
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < PANELS; p++)
            sums[r][p] = _mm512_loadu_ps(to + r * COLUMNS + p * LANES);
    for (int64_t block = 0; block < blocks; block++)
        add_block(rows, a + block / GROUP_BLOCKS * group_rows, block % GROUP_BLOCKS, slice, block, sums);
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < PANELS; p++)
            _mm512_storeu_ps(to + r * COLUMNS + p * LANES, sums[r][p]);
}

RUNGI_TARGET_AVX512_DOT static void add_tile(const rungi_quantized_group *a, int64_t group_rows, const slice_t *slice,
                                             int64_t blocks, float *to)
{
    add_rows(TILE_ROWS, a, group_rows, slice, blocks, to);
}

RUNGI_TARGET_AVX512_DOT static void add_one_row(const rungi_quantized_group *a, int64_t group_rows,
                                                const slice_t *slice, int64_t blocks, float *to)
{
    add_rows(1, a, group_rows, slice, blocks, to);
}

/* Adds the products of all rows with the slice of the panels from column c of the sums on. */
static void multiply_slice(const panels_run_t *run, int64_t c, int64_t group, int64_t blocks)
{
    const rungi_quantized_group *a = run->a + group * run->rows;
    int64_t r = 0;
    for (; r + TILE_ROWS <= run->rows; r += TILE_ROWS)
        add_tile(a + r, run->rows, run->slice, blocks, run->sums + r * COLUMNS + c);
    for (; r < run->rows; r++)
        add_one_row(a + r, run->rows, run->slice, blocks, run->sums + r * COLUMNS + c);
}

/* Multiplies the current rows by `cols` columns from column j on. */
static void multiply_columns(const panels_run_t *run, int64_t j, int64_t cols)
{
    int64_t all_blocks = run->job->k / BLOCK;
    memset(run->sums, 0, (size_t)run->rows * COLUMNS * sizeof *run->sums);
    for (int64_t block = 0; block < all_blocks; block += SLICE_BLOCKS) {
        int64_t blocks = rungi_min(SLICE_BLOCKS, all_blocks - block);
        for (int64_t c = 0; c < cols; c += PANELS * LANES) {
            prepare_slice(run, j + c, block, blocks, next_slice(run, c, cols, block));
            multiply_slice(run, c, block / GROUP_BLOCKS, blocks);
        }
    }
    rungi_cpu_c_block c_block = {run->i, j, run->rows, cols};
    rungi_cpu_epilogue_apply_avx512(run->job, &c_block, run->sums, COLUMNS);
}

void rungi_quantized_panels_run(const rungi_cpu_job *job, int64_t rows)
{
    panels_run_t run = {.job = job, .slice = (slice_t *)(void *)job->scratch};
    run.sums = (float *)(void *)(run.slice + 1);
    run.a = (rungi_quantized_group *)(void *)(run.sums + rows * COLUMNS);
    memset(run.slice, 0, sizeof *run.slice); /* a panel outside B is multiplied, too */
    for (run.i = 0; run.i < job->m; run.i += rows) {
        run.rows = rungi_min(rows, job->m - run.i);
        rungi_quantized_rows(job, run.i, run.rows, run.a);
        for (int64_t j = 0; j < job->n; j += COLUMNS)
            multiply_columns(&run, j, rungi_min(COLUMNS, job->n - j));
    }
}
#endif
