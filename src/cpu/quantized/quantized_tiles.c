/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_tiles.c - multiplies A, rounded to BF16, by a quantized B in AMX tiles.
 *
 * C^T = B^T * A^T is computed, because B^T then needs no transposition: its rows, the columns of B, are dequantized to BF16 as
 * they lie in memory. For a slice of k, a panel of 32 columns of B stays in L1 while all rows of A are multiplied with it. The
 * slices of A and the sums of a block of columns stay in L2. */
#include "cpu/quantized/quantized_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "base/ggml_blocks.h"
#include "core/matrix.h"
#include "cpu/amx/amx_tiles.h"
#include "cpu/microkernels/transpose_avx512.h"
#include "cpu/quantized/quantized_packed.h"

enum {
    PANEL = 32, /* columns of B, and rows of A, that four tiles of sums cover */
    STEP = 32,  /* elements along k per tile: one block of B */
    TILE = RUNGI_AMX_TILE_BYTES,
    SIDE = 16,          /* rows and columns of a tile */
    FEW_ROWS = 64,      /* up to here a panel of B is used so seldom that it need not stay in L1 */
    SUMS_PADDING = SIDE /* elements between columns of sums, which then lie in different cache sets */
};

#define INLINE RUNGI_TARGET_AMX static RUNGI_ALWAYS_INLINE

/* One call: the job, its block sizes, and its scratch memory. */
typedef struct tiles_run {
    const rungi_cpu_job *job;
    rungi_quantized_tiles_blocks sizes;
    int64_t i, rows, j, cols, p, steps; /* the current rows of A, columns of B, and slice of k */
    char *a, *b;                        /* the slice of A, and the panel of B */
    float *sums;                        /* column after column */
} tiles_run_t;

/* ---- Block sizes ------------------------------------------------------------------------------------------------- */

rungi_quantized_tiles_blocks rungi_quantized_tiles_blocks_choose(const rungi_cpu_job *job)
{
    const rungi_cpu_block_sizes *caches = &job->features->blocks;
    rungi_quantized_tiles_blocks sizes;
    sizes.rows = rungi_min(rungi_round_up(job->m, PANEL), 512);
    int64_t panel_bytes = job->m <= FEW_ROWS ? 2 * caches->amx_panel : caches->amx_panel;
    int64_t slice = panel_bytes / (PANEL * (int64_t)sizeof(uint16_t)) / STEP * STEP;
    sizes.k = rungi_min(rungi_max(slice, STEP), rungi_round_up(job->k, STEP));
    int64_t cols = caches->half_l2 / ((sizes.rows + SUMS_PADDING) * (int64_t)sizeof(float)) / PANEL * PANEL;
    sizes.cols = rungi_min(rungi_max(cols, PANEL), rungi_round_up(job->n, PANEL));
    return sizes;
}

static int64_t a_bytes(const rungi_quantized_tiles_blocks *sizes)
{
    return sizes->rows * sizes->k * (int64_t)sizeof(uint16_t);
}

static int64_t b_bytes(const rungi_quantized_tiles_blocks *sizes)
{
    return PANEL * sizes->k * (int64_t)sizeof(uint16_t);
}

static int64_t sums_stride(const rungi_quantized_tiles_blocks *sizes)
{
    return sizes->rows + SUMS_PADDING;
}

int64_t rungi_quantized_tiles_scratch_bytes(const rungi_quantized_tiles_blocks *sizes)
{
    return a_bytes(sizes) + b_bytes(sizes) + sizes->cols * sums_stride(sizes) * (int64_t)sizeof(float);
}

/* ---- A ----------------------------------------------------------------------------------------------------------- */

/* Returns STEP elements of row i from step p on, rounded to BF16. */
RUNGI_TARGET_AMX static __m512i round_row(const rungi_cpu_job *job, int64_t i, int64_t p)
{
    const rungi_cpu_input *a = &job->a;
    float values[STEP];
    const float *from = (const float *)a->first + i * a->row_stride + p * a->col_stride;
    if (job->in != RUNG_F32 || a->col_stride != 1) {
        rungi_quantized_read_row(job, i, p, STEP, values);
        from = values;
    }
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + SIDE), _mm512_loadu_ps(from));
}

/* Packs the slice of A: for each panel of rows and each step two tiles, whose rows are pairs of elements along k. */
RUNGI_TARGET_AMX static void pack_a(const tiles_run_t *run)
{
    for (int64_t i = 0; i < run->rows; i += SIDE) {
        char *to = run->a + i / PANEL * run->steps * 2 * TILE + i % PANEL / SIDE * TILE;
        for (int64_t step = 0; step < run->steps; step++, to += 2 * TILE) {
            __m512i rows[SIDE];
            for (int64_t r = 0; r < SIDE; r++)
                rows[r] = i + r < run->rows ? round_row(run->job, run->i + i + r, run->p + step * STEP)
                                            : _mm512_setzero_si512();
            rungi_transpose_16x16(rows);
            for (int64_t r = 0; r < SIDE; r++)
                _mm512_store_si512(to + r * 64, rows[r]);
        }
    }
}

/* ---- B ----------------------------------------------------------------------------------------------------------- */

INLINE __m512i dequantize_q8_0(const char *bytes)
{
    const rungi_q8_0_block *block = (const void *)bytes;
    __m512 scale = _mm512_set1_ps(_cvtsh_ss(block->scale));
    __m512i low = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)block->elements));
    __m512i high = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(block->elements + SIDE)));
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_mul_ps(_mm512_cvtepi32_ps(high), scale),
                                        _mm512_mul_ps(_mm512_cvtepi32_ps(low), scale));
}

/* The 16 numbers that an element can be are rounded once per block, and looked up. */
INLINE __m512i dequantize_q4_0(const char *bytes)
{
    const rungi_q4_0_block *block = (const void *)bytes;
    const __m512 numbers = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    __m512 scaled = _mm512_mul_ps(numbers, _mm512_set1_ps(_cvtsh_ss(block->scale)));
    __m512i table = _mm512_castsi256_si512((__m256i)_mm512_cvtneps_pbh(scaled));
    __m256i pairs = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)block->pairs));
    __m256i low = _mm256_and_si256(pairs, _mm256_set1_epi16(15)), high = _mm256_srli_epi16(pairs, 4);
    return _mm512_permutexvar_epi16(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1), table);
}

/* Dequantizes the slice of one column to every second tile of the panel. Prefetches the column of the next panel. */
INLINE void dequantize_column(rung_type type, const tiles_run_t *run, const char *from, int64_t next, char *to)
{
    const int64_t block = type == RUNG_Q8_0 ? sizeof(rungi_q8_0_block) : sizeof(rungi_q4_0_block);
    for (int64_t step = 0; step < run->steps; step++, from += block, to += 2 * TILE) {
        _mm_prefetch(from + next, _MM_HINT_T0);
        _mm512_store_si512(to, type == RUNG_Q8_0 ? dequantize_q8_0(from) : dequantize_q4_0(from));
    }
}

/* The same for a column of a packed B, whose blocks are restored first. */
INLINE void dequantize_packed_column(rung_type type, const tiles_run_t *run, int64_t col, char *to)
{
    rungi_q8_0_block memory; /* large enough for a block of either type */
    char *block = (char *)&memory;
    for (int64_t step = 0; step < run->steps; step++, to += 2 * TILE) {
        rungi_quantized_unpack_block(run->job, col, run->p / STEP + step, block);
        _mm512_store_si512(to, type == RUNG_Q8_0 ? dequantize_q8_0(block) : dequantize_q4_0(block));
    }
}

/* Dequantizes the panel of columns from column j of a packed B on. */
RUNGI_TARGET_AMX static void dequantize_packed_panel(const tiles_run_t *run, int64_t j)
{
    const rungi_cpu_job *job = run->job;
    int64_t cols = rungi_min(PANEL, run->cols - j), col = job->first_col + run->j + j;
    for (int64_t c = 0; c < cols; c++) {
        char *to = run->b + c / SIDE * TILE + c % SIDE * 64;
        if (job->b_type == RUNG_Q8_0)
            dequantize_packed_column(RUNG_Q8_0, run, col + c, to);
        else
            dequantize_packed_column(RUNG_Q4_0, run, col + c, to);
    }
}

/* Dequantizes the panel of columns from column j of the block on. Columns outside B keep old values: their sums are not used. */
RUNGI_TARGET_AMX static void dequantize_panel(const tiles_run_t *run, int64_t j)
{
    const rungi_cpu_job *job = run->job;
    int64_t column_bytes = rungi_type_bytes(job->b_type, job->b.col_stride);
    const char *first = (const char *)job->b.first + (run->j + j) * column_bytes +
                        rungi_type_bytes(job->b_type, run->p);
    int64_t cols = rungi_min(PANEL, run->cols - j);
    for (int64_t c = 0; c < cols; c++) {
        char *to = run->b + c / SIDE * TILE + c % SIDE * 64;
        if (job->b_type == RUNG_Q8_0)
            dequantize_column(RUNG_Q8_0, run, first + c * column_bytes, PANEL * column_bytes, to);
        else
            dequantize_column(RUNG_Q4_0, run, first + c * column_bytes, PANEL * column_bytes, to);
    }
}

/* ---- Tiles --------------------------------------------------------------------------------------------------------- */

/* Adds a panel of B times a panel of A to 32 x 32 sums. Tiles 0 to 3 are sums, 4 and 5 columns of B, 6 and 7 rows of A. */
RUNGI_TARGET_AMX static void multiply_32x32(int64_t steps, const char *b, const char *a, float *sums, int64_t stride)
{
    const int64_t bytes = stride * (int64_t)sizeof *sums;
    float *lower = sums + SIDE * stride;
    _tile_loadd(0, sums, bytes);
    _tile_loadd(1, sums + SIDE, bytes);
    _tile_loadd(2, lower, bytes);
    _tile_loadd(3, lower + SIDE, bytes);
    for (int64_t step = 0; step < steps; step++, a += 2 * TILE, b += 2 * TILE) {
        _tile_loadd(6, a, 64);
        _tile_loadd(4, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, a + TILE, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, b + TILE, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, bytes);
    _tile_stored(1, sums + SIDE, bytes);
    _tile_stored(2, lower, bytes);
    _tile_stored(3, lower + SIDE, bytes);
}

/* The same for up to 16 rows of A. */
RUNGI_TARGET_AMX static void multiply_32x16(int64_t steps, const char *b, const char *a, float *sums, int64_t stride)
{
    const int64_t bytes = stride * (int64_t)sizeof *sums;
    float *lower = sums + SIDE * stride;
    _tile_loadd(0, sums, bytes);
    _tile_loadd(2, lower, bytes);
    for (int64_t step = 0; step < steps; step++, a += 2 * TILE, b += 2 * TILE) {
        _tile_loadd(6, a, 64);
        _tile_loadd(4, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, b + TILE, 64);
        _tile_dpbf16ps(2, 5, 6);
    }
    _tile_stored(0, sums, bytes);
    _tile_stored(2, lower, bytes);
}

/* Adds the products of the current slice to the sums of a panel of columns. */
static void multiply_panel(const tiles_run_t *run, int64_t j)
{
    int64_t stride = sums_stride(&run->sizes);
    for (int64_t i = 0; i < run->rows; i += PANEL) {
        const char *a = run->a + i / PANEL * run->steps * 2 * TILE;
        (run->rows - i > SIDE ? multiply_32x32 : multiply_32x16)(run->steps, run->b, a, run->sums + j * stride + i,
                                                                 stride);
    }
}

/* ---- C ----------------------------------------------------------------------------------------------------------- */

/* Transposes 16 columns of sums, from column j of the block on, and computes C from them. */
RUNGI_TARGET_AMX static void store_columns(const tiles_run_t *run, int64_t j)
{
    int64_t stride = sums_stride(&run->sizes), cols = rungi_min(SIDE, run->cols - j);
    _Alignas(64) float block[SIDE * SIDE];
    for (int64_t i = 0; i < run->rows; i += SIDE) {
        __m512i r[SIDE];
        for (int64_t c = 0; c < SIDE; c++)
            r[c] = _mm512_loadu_si512(run->sums + (j + c) * stride + i);
        rungi_transpose_16x16(r);
        for (int64_t l = 0; l < SIDE; l++)
            _mm512_store_si512(block + l * SIDE, r[l]);
        rungi_cpu_c_block c_block = {run->i + i, run->j + j, rungi_min(SIDE, run->rows - i), cols};
        rungi_cpu_epilogue_apply_avx512(run->job, &c_block, block, SIDE);
    }
}

static void multiply_block(tiles_run_t *run)
{
    const rungi_cpu_job *job = run->job;
    memset(run->sums, 0, (size_t)(run->sizes.cols * sums_stride(&run->sizes)) * sizeof *run->sums);
    for (run->p = 0; run->p < job->k; run->p += run->sizes.k) {
        run->steps = rungi_min(run->sizes.k, job->k - run->p) / STEP;
        pack_a(run);
        for (int64_t j = 0; j < run->cols; j += PANEL) {
            (job->packed ? dequantize_packed_panel : dequantize_panel)(run, j);
            multiply_panel(run, j);
        }
    }
    for (int64_t j = 0; j < run->cols; j += SIDE)
        store_columns(run, j);
}

RUNGI_TARGET_AMX void rungi_quantized_tiles_run(const rungi_cpu_job *job, const rungi_quantized_tiles_blocks *sizes)
{
    tiles_run_t run = {.job = job, .sizes = *sizes, .a = job->scratch};
    run.b = run.a + a_bytes(sizes);
    run.sums = (float *)(void *)(run.b + b_bytes(sizes));
    rungi_amx_tiles_configure(SIDE);
    for (run.i = 0; run.i < job->m; run.i += sizes->rows) {
        run.rows = rungi_min(sizes->rows, job->m - run.i);
        for (run.j = 0; run.j < job->n; run.j += sizes->cols) {
            run.cols = rungi_min(sizes->cols, job->n - run.j);
            multiply_block(&run);
        }
    }
    _tile_release();
}
#endif
