/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_integer_tiles.c - multiplies A, rounded to 8-bit integers, by a quantized B in AMX tiles of integers.
 *
 * A tile ends after one block of 32 elements, because the next block has other scales. Its 16 x 16 sums are exact. Vector
 * instructions scale them and add them to sums in registers while the tile instructions of the next blocks run. Nothing is
 * dequantized, so this is faster than tiles of BF16 unless A has so many rows that they hide the time for that.
 *
 * Sixteen columns of B at a time are multiplied by panels of 16 rows of A. Columns that lie in memory one after the other are
 * rows of the first operand of a tile instruction, and the sums are those of C^T. The panels of a packed B have the layout of
 * the second operand, and the sums are those of C. */
#include "cpu/quantized/quantized_integer_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/ggml_blocks.h"
#include "core/matrix.h"
#include "cpu/amx/amx_tiles.h"
#include "cpu/microkernels/transpose_avx512.h"
#include "cpu/quantized/quantized_packed.h"

enum {
    SIDE = RUNGI_QUANTIZED_PANEL, /* rows and columns of a tile of sums */
    BLOCK = RUNGI_QUANTIZED_BLOCK,
    WORD = 4,          /* elements along k per lane of the second operand */
    SLICE_BLOCKS = 32, /* blocks of 16 columns that are prepared at a time; they stay in L1 */
    RESULTS = 4,       /* tiles of sums in flight */
    TILE = RUNGI_AMX_TILE_BYTES
};

#define INLINE RUNGI_TARGET_AMX static RUNGI_ALWAYS_INLINE

/* A slice of B, and results of tile instructions. */
typedef struct integer_scratch {
    rungi_quantized_vectors b[SLICE_BLOCKS];
    char results[RESULTS][TILE];
} integer_scratch_t;

typedef struct integer_run {
    const rungi_cpu_job *job;
    int64_t i, rows, j, blocks; /* the current rows of A and columns of B; blocks along k */
    rungi_quantized_vectors *a; /* panel after panel, block after block */
    float *sums;                /* 16 x 16 per panel */
    rungi_quantized_group *row; /* one quantized row of A */
    integer_scratch_t *scratch;
} integer_run_t;

/* ---- Memory -------------------------------------------------------------------------------------------------------- */

int64_t rungi_integer_tiles_rows(const rungi_cpu_job *job, int64_t rows)
{
    int64_t cached_blocks = job->features->blocks.half_l2 / (int64_t)sizeof(rungi_quantized_vectors);
    int64_t panels = rungi_max(cached_blocks / rungi_max(job->k / BLOCK, 1), 1);
    return rungi_min(rungi_round_up(rows, SIDE), rungi_min(panels, 64) * SIDE);
}

static int64_t row_groups(int64_t k)
{
    return rungi_ceil_divide(k, RUNGI_QUANTIZED_GROUP);
}

bool rungi_integer_tiles_scratch_bytes(int64_t rows, int64_t k, int64_t *bytes)
{
    int64_t panels = rows / SIDE, a_bytes, row_bytes;
    if (!rungi_checked_multiply(k / BLOCK, panels * (int64_t)sizeof(rungi_quantized_vectors), &a_bytes) ||
        !rungi_checked_multiply(row_groups(k), sizeof(rungi_quantized_group), &row_bytes))
        return false;
    return rungi_checked_add(a_bytes, row_bytes, bytes) &&
           rungi_checked_add(*bytes, panels * SIDE * SIDE * (int64_t)sizeof(float) + (int64_t)sizeof(integer_scratch_t),
                             bytes);
}

/* ---- A ------------------------------------------------------------------------------------------------------------- */

/* Copies a block of a row to its place in a tile operand: a row of the first operand, or a column of words of the second. */
static void place_block(bool is_first_operand, const rungi_quantized_group *group, int64_t b, int64_t r, int8_t *to)
{
    int8_t elements[BLOCK];
    memcpy(elements, group->low + b * BLOCK / 2, BLOCK / 2);
    memcpy(elements + BLOCK / 2, group->high + b * BLOCK / 2, BLOCK / 2);
    if (is_first_operand) {
        memcpy(to + r * BLOCK, elements, BLOCK);
        return;
    }
    for (int64_t q = 0; q < BLOCK / WORD; q++)
        memcpy(to + (q * SIDE + r) * WORD, elements + q * WORD, WORD);
}

/* Quantizes 16 rows of A. Rows outside A become zeros: their sums are not used, but denormal numbers would be slow. */
static void pack_panel(const integer_run_t *run, int64_t i, rungi_quantized_vectors *to)
{
    int64_t rows = rungi_min(SIDE, run->rows - i);
    if (rows < SIDE)
        memset(to, 0, (size_t)run->blocks * sizeof *to);
    for (int64_t r = 0; r < rows; r++) {
        rungi_quantized_rows(run->job, run->i + i + r, 1, run->row);
        for (int64_t b = 0; b < run->blocks; b++) {
            const rungi_quantized_group *group = run->row + b / RUNGI_QUANTIZED_GROUP_BLOCKS;
            int64_t in_group = b % RUNGI_QUANTIZED_GROUP_BLOCKS;
            place_block(run->job->packed != NULL, group, in_group, r, to[b].elements);
            to[b].scales[r] = group->scale[WORD * in_group];
        }
    }
}

static void pack_a(const integer_run_t *run)
{
    for (int64_t i = 0; i < run->rows; i += SIDE)
        pack_panel(run, i, run->a + i / SIDE * run->blocks);
}

/* ---- B ------------------------------------------------------------------------------------------------------------- */

/* Expands the elements of a block to signed bytes. */
INLINE __m256i expand_block(rung_type type, const char *bytes)
{
    const rungi_q8_0_block *q8 = (const void *)bytes;
    const rungi_q4_0_block *q4 = (const void *)bytes;
    if (type == RUNG_Q8_0)
        return _mm256_loadu_si256((const __m256i *)(const void *)q8->elements);
    __m128i pairs = _mm_loadu_si128((const __m128i *)(const void *)q4->pairs);
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(pairs), _mm_srli_epi16(pairs, 4), 1);
    return _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(15)), _mm256_set1_epi8(8));
}

/* Prepares blocks of one column of B as row c of first operands, and collects their scales. Prefetches what lies `next` bytes
 * further. */
INLINE void prepare_column(rung_type type, const char *from, int64_t blocks, int64_t next, int64_t c,
                           rungi_quantized_vectors *to, uint16_t (*scales)[SIDE])
{
    const int64_t size = type == RUNG_Q8_0 ? sizeof(rungi_q8_0_block) : sizeof(rungi_q4_0_block);
    for (int64_t b = 0; b < blocks; b++, from += size) {
        _mm_prefetch(from + next, _MM_HINT_T0);
        memcpy(&scales[b][c], from, sizeof scales[b][c]);
        _mm256_store_si256((__m256i *)(void *)(to[b].elements + c * BLOCK), expand_block(type, from));
    }
}

/* Prepares a slice of 16 columns of B from block `first` on. Columns outside B keep old values: their sums are not used. */
RUNGI_TARGET_AMX static void prepare_plain(const integer_run_t *run, int64_t first, int64_t blocks)
{
    const rungi_cpu_job *job = run->job;
    int64_t column_bytes = rungi_type_bytes(job->b_type, job->b.col_stride), cols = rungi_min(SIDE, job->n - run->j);
    int64_t first_bytes = rungi_type_bytes(job->b_type, first * BLOCK);
    int64_t next = first + blocks < run->blocks ? rungi_type_bytes(job->b_type, blocks * BLOCK)
                                                : SIDE * column_bytes - first_bytes; /* the next 16 columns follow */
    const char *from = (const char *)job->b.first + run->j * column_bytes + first_bytes;
    rungi_quantized_vectors *to = run->scratch->b;
    _Alignas(32) uint16_t scales[SLICE_BLOCKS][SIDE];
    memset(scales, 0, sizeof scales);
    for (int64_t c = 0; c < cols; c++)
        if (job->b_type == RUNG_Q8_0)
            prepare_column(RUNG_Q8_0, from + c * column_bytes, blocks, next, c, to, scales);
        else
            prepare_column(RUNG_Q4_0, from + c * column_bytes, blocks, next, c, to, scales);
    for (int64_t b = 0; b < blocks; b++)
        _mm512_store_ps(to[b].scales, _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)scales[b])));
}

static void prepare_b(const integer_run_t *run, int64_t first, int64_t blocks)
{
    if (run->job->packed)
        rungi_quantized_unpack_vectors(run->job, run->job->first_col + run->j, first, blocks, run->scratch->b);
    else
        prepare_plain(run, first, blocks);
}

/* ---- Tiles --------------------------------------------------------------------------------------------------------- */

/* Tiles 0 are sums, 1 is the first operand with 16 rows of a block, 2 the second with 8 rows of words. */
RUNGI_TARGET_AMX static void configure_tiles(void)
{
    static const rungi_amx_tile_config config = {
        .palette = 1, .bytes = {SIDE * 4, BLOCK, SIDE * WORD}, .rows = {SIDE, SIDE, BLOCK / WORD}};
    _tile_loadconfig(&config);
}

INLINE void multiply_block(const rungi_quantized_vectors *first, const rungi_quantized_vectors *second, char *result)
{
    _tile_zero(0);
    _tile_loadd(1, first->elements, BLOCK);
    _tile_loadd(2, second->elements, SIDE * WORD);
    _tile_dpbssd(0, 1, 2);
    _tile_stored(0, result, SIDE * 4);
}

/* Scales the 16 x 16 sums of a block and adds them. Row r has one scale in `first`, column c one in `second`. */
INLINE void add_result(const char *result, const rungi_quantized_vectors *first, const rungi_quantized_vectors *second,
                       __m512 *sums)
{
    __m512 scales = _mm512_load_ps(second->scales);
    for (int r = 0; r < SIDE; r++) {
        __m512 products = _mm512_cvtepi32_ps(_mm512_load_si512(result + r * SIDE * 4));
        sums[r] = _mm512_fmadd_ps(products, _mm512_mul_ps(scales, _mm512_set1_ps(first->scales[r])), sums[r]);
    }
}

/* Adds the products of `blocks` blocks. The tile instructions are RESULTS - 1 blocks ahead of the vector instructions. */
RUNGI_TARGET_AMX static void multiply_blocks(const rungi_quantized_vectors *first,
                                             const rungi_quantized_vectors *second, int64_t blocks,
                                             char (*results)[TILE], float *to)
{
    __m512 sums[SIDE];
    for (int r = 0; r < SIDE; r++)
        sums[r] = _mm512_load_ps(to + r * SIDE);
    for (int64_t b = 0; b < rungi_min(RESULTS - 1, blocks); b++)
        multiply_block(first + b, second + b, results[b]);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t ahead = b + RESULTS - 1;
        if (ahead < blocks)
            multiply_block(first + ahead, second + ahead, results[ahead % RESULTS]);
        add_result(results[b % RESULTS], first + b, second + b, sums);
    }
    for (int r = 0; r < SIDE; r++)
        _mm512_store_ps(to + r * SIDE, sums[r]);
}

/* ---- C ------------------------------------------------------------------------------------------------------------- */

RUNGI_TARGET_AMX static void transpose_sums(float *sums)
{
    __m512i rows[SIDE];
    for (int64_t r = 0; r < SIDE; r++)
        rows[r] = _mm512_load_si512(sums + r * SIDE);
    rungi_transpose_16x16(rows);
    for (int64_t r = 0; r < SIDE; r++)
        _mm512_store_si512(sums + r * SIDE, rows[r]);
}

static void store_c(const integer_run_t *run)
{
    for (int64_t i = 0; i < run->rows; i += SIDE) {
        float *sums = run->sums + i * SIDE;
        rungi_cpu_c_block block = {run->i + i, run->j, rungi_min(SIDE, run->rows - i),
                                   rungi_min(SIDE, run->job->n - run->j)};
        if (!run->job->packed)
            transpose_sums(sums);
        rungi_cpu_epilogue_apply_avx512(run->job, &block, sums, SIDE);
    }
}

static void multiply_columns(const integer_run_t *run)
{
    memset(run->sums, 0, (size_t)rungi_round_up(run->rows, SIDE) * SIDE * sizeof *run->sums);
    for (int64_t first = 0; first < run->blocks; first += SLICE_BLOCKS) {
        int64_t blocks = rungi_min(SLICE_BLOCKS, run->blocks - first);
        prepare_b(run, first, blocks);
        for (int64_t i = 0; i < run->rows; i += SIDE) {
            const rungi_quantized_vectors *a = run->a + i / SIDE * run->blocks + first, *b = run->scratch->b;
            multiply_blocks(run->job->packed ? a : b, run->job->packed ? b : a, blocks, run->scratch->results,
                            run->sums + i * SIDE);
        }
    }
    store_c(run);
}

RUNGI_TARGET_AMX void rungi_integer_tiles_run(const rungi_cpu_job *job, int64_t rows)
{
    integer_run_t run = {.job = job, .blocks = job->k / BLOCK, .a = (rungi_quantized_vectors *)(void *)job->scratch};
    run.sums = (float *)(void *)(run.a + rows / SIDE * run.blocks);
    run.scratch = (integer_scratch_t *)(void *)(run.sums + rows * SIDE);
    run.row = (rungi_quantized_group *)(void *)(run.scratch + 1);
    configure_tiles();
    for (run.i = 0; run.i < job->m; run.i += rows) {
        run.rows = rungi_min(rows, job->m - run.i);
        pack_a(&run);
        for (run.j = 0; run.j < job->n; run.j += SIDE)
            multiply_columns(&run);
    }
    _tile_release();
}
#endif
