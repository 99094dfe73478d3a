/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_tiles.c - multiplies A, rounded to BF16, by a quantized B in AMX tiles.
 *
 * C^T = B^T * A^T is computed, because B^T then needs no transposition: its rows, the columns of B, are dequantized to BF16 as
 * they lie in memory. A slice of a panel of B (32 columns, some blocks along k) fits L1 and is multiplied by all rows of A, which
 * are packed in L2. Meanwhile the next slice is dequantized: tile instructions and vector instructions run side by side. If A
 * fits L2 for the whole k, each column of B is read from its first to its last block. Otherwise A is packed in chunks of k. */
#include "cpu/quantized/quantized_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "base/ggml_blocks.h"
#include "core/matrix.h"
#include "cpu/amx/amx_tiles.h"
#include "cpu/microkernels/cpu_dequantize.h"
#include "cpu/microkernels/transpose_avx512.h"
#include "cpu/quantized/quantized_packed.h"

enum {
    PANEL = 32, /* columns of B, and rows of A, that four tiles of sums cover */
    STEP = 32,  /* elements along k per tile: one block of B */
    STEP_BYTES = STEP * (int)sizeof(uint16_t),
    TILE = RUNGI_AMX_TILE_BYTES,
    SIDE = 16,          /* rows and columns of a tile */
    MAX_ROWS = 512,     /* rows of A that are packed at a time */
    FEW_ROWS = 64,      /* up to here, short slices are better: loading and storing their sums costs little */
    WHOLE_K_COLS = 256, /* columns whose sums are kept if A is packed for the whole k */
    SUMS_PADDING = SIDE /* elements between columns of sums, which then lie in different cache sets */
};

#define INLINE RUNGI_TARGET_AMX static RUNGI_ALWAYS_INLINE

/* One call: the job, its block sizes, and its scratch memory. */
typedef struct tiles_run {
    const rungi_cpu_job *job;
    rungi_quantized_tiles_blocks sizes;
    int64_t i, rows, j, cols, p, chunk; /* the current rows of A, columns of B, and chunk of k */
    char *a, *b[2];                     /* the chunk of A, and two slices of panels of B */
    float *sums;                        /* column after column */
} tiles_run_t;

/* A slice of a panel of B: its place in the block of columns and in the chunk of k, and its dequantized elements. */
typedef struct tiles_slice {
    int64_t j, p, steps;
    char *b;
} tiles_slice_t;

/* ---- Block sizes ------------------------------------------------------------------------------------------------- */

rungi_quantized_tiles_blocks rungi_quantized_tiles_blocks_choose(const rungi_cpu_job *job)
{
    const rungi_cpu_block_sizes *caches = &job->features->blocks;
    int64_t whole_k = rungi_round_up(job->k, STEP),
            panel = job->m <= FEW_ROWS ? caches->amx_panel / 2 : caches->amx_panel;
    int64_t slice = panel / (PANEL * STEP_BYTES) * STEP;
    rungi_quantized_tiles_blocks sizes = {.rows = rungi_min(rungi_round_up(rungi_max(job->m, 1), PANEL), MAX_ROWS)};
    sizes.slice = rungi_min(rungi_max(slice, STEP), whole_k);
    int64_t row_bytes = sizes.rows * (int64_t)sizeof(uint16_t);
    if (whole_k <= caches->half_l2 / row_bytes) {
        sizes.chunk = whole_k;
        sizes.cols = rungi_min(WHOLE_K_COLS, rungi_round_up(job->n, PANEL));
        return sizes;
    }
    sizes.chunk = rungi_max(caches->half_l2 / 2 / row_bytes / sizes.slice, 1) * sizes.slice;
    int64_t cols = caches->half_l2 / ((sizes.rows + SUMS_PADDING) * (int64_t)sizeof(float)) / PANEL * PANEL;
    sizes.cols = rungi_min(rungi_max(cols, PANEL), rungi_round_up(job->n, PANEL));
    return sizes;
}

static int64_t a_bytes(const rungi_quantized_tiles_blocks *sizes)
{
    return sizes->rows * sizes->chunk * (int64_t)sizeof(uint16_t);
}

/* Returns the bytes from one column of the panel of B to the next. The padding puts columns into different cache sets. */
static int64_t b_stride(const rungi_quantized_tiles_blocks *sizes)
{
    return sizes->slice * (int64_t)sizeof(uint16_t) + STEP_BYTES;
}

static int64_t sums_stride(const rungi_quantized_tiles_blocks *sizes)
{
    return sizes->rows + SUMS_PADDING;
}

int64_t rungi_quantized_tiles_scratch_bytes(const rungi_quantized_tiles_blocks *sizes)
{
    return a_bytes(sizes) + 2 * PANEL * b_stride(sizes) + sizes->cols * sums_stride(sizes) * (int64_t)sizeof(float);
}

/* ---- A ----------------------------------------------------------------------------------------------------------- */

/* Returns STEP elements of row i from element p on, rounded to BF16, and zeros behind the end of k. */
RUNGI_TARGET_AMX static __m512i round_row(const rungi_cpu_job *job, int64_t i, int64_t p)
{
    const rungi_cpu_input *a = &job->a;
    float values[STEP];
    int64_t count = rungi_min(STEP, job->k - p);
    const float *from = (const float *)a->first + i * a->row_stride + p * a->col_stride;
    if (job->in != RUNG_F32 || rungi_cpu_dequantizes_a(job) || a->col_stride != 1 || count < STEP) {
        rungi_quantized_read_row(job, i, p, count, values);
        memset(values + count, 0, (size_t)(STEP - count) * sizeof *values);
        from = values;
    }
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + SIDE), _mm512_loadu_ps(from));
}

/* Packs the chunk of A: for each panel of rows and each step two tiles, whose rows are pairs of elements along k. */
RUNGI_TARGET_AMX static void pack_a(const tiles_run_t *run)
{
    int64_t steps = run->chunk / STEP;
    for (int64_t i = 0; i < run->rows; i += SIDE) {
        char *to = run->a + i / PANEL * steps * 2 * TILE + i % PANEL / SIDE * TILE;
        for (int64_t step = 0; step < steps; step++, to += 2 * TILE) {
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

INLINE __m512i dequantize_q8_0(__m256i elements, __m512 scale)
{
    __m512i low = _mm512_cvtepi8_epi32(_mm256_castsi256_si128(elements));
    __m512i high = _mm512_cvtepi8_epi32(_mm256_extracti128_si256(elements, 1));
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_mul_ps(_mm512_cvtepi32_ps(high), scale),
                                        _mm512_mul_ps(_mm512_cvtepi32_ps(low), scale));
}

/* The 16 numbers that an element can be are rounded once per block, and looked up. */
INLINE __m512i dequantize_q4_0(__m128i nibbles, __m512 scale)
{
    const __m512 numbers = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    __m512i table = _mm512_castsi256_si512((__m256i)_mm512_cvtneps_pbh(_mm512_mul_ps(numbers, scale)));
    __m256i pairs = _mm256_cvtepu8_epi16(nibbles);
    __m256i low = _mm256_and_si256(pairs, _mm256_set1_epi16(15)), high = _mm256_srli_epi16(pairs, 4);
    return _mm512_permutexvar_epi16(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1), table);
}

INLINE __m512i dequantize_block(rung_type type, const char *bytes)
{
    const rungi_q8_0_block *q8 = (const void *)bytes;
    const rungi_q4_0_block *q4 = (const void *)bytes;
    if (type == RUNG_Q8_0)
        return dequantize_q8_0(_mm256_loadu_si256((const __m256i *)(const void *)q8->elements),
                               _mm512_set1_ps(_cvtsh_ss(q8->scale)));
    return dequantize_q4_0(_mm_loadu_si128((const __m128i *)(const void *)q4->pairs),
                           _mm512_set1_ps(_cvtsh_ss(q4->scale)));
}

/* Dequantizes a slice of one column. Prefetches what lies `next` bytes further. */
INLINE void dequantize_column(rung_type type, int64_t steps, const char *from, int64_t next, char *to)
{
    const int64_t block = type == RUNG_Q8_0 ? sizeof(rungi_q8_0_block) : sizeof(rungi_q4_0_block);
    for (int64_t step = 0; step < steps; step++, from += block, to += STEP_BYTES) {
        _mm_prefetch(from + next, _MM_HINT_T0);
        _mm512_store_si512(to, dequantize_block(type, from));
    }
}

/* Dequantizes column `c` of a slice. Columns outside B keep old values: their sums are not used. */
RUNGI_TARGET_AMX static void dequantize_slice_column(const tiles_run_t *run, const tiles_slice_t *slice, int64_t c)
{
    const rungi_cpu_job *job = run->job;
    int64_t column_bytes = rungi_type_bytes(job->b_type, job->b.col_stride), col = run->j + slice->j + c;
    int64_t p_bytes = rungi_type_bytes(job->b_type, slice->p),
            next = rungi_type_bytes(job->b_type, slice->steps * STEP);
    if (slice->p + slice->steps * STEP == run->chunk) /* the first slice of the next panel follows */
        next = PANEL * column_bytes - p_bytes;
    const char *from = (const char *)job->b.first + col * column_bytes + rungi_type_bytes(job->b_type, run->p) +
                       p_bytes;
    char *to = slice->b + c * b_stride(&run->sizes);
    if (slice->j + c >= run->cols)
        return;
    if (job->b_type == RUNG_Q8_0)
        dequantize_column(RUNG_Q8_0, slice->steps, from, next, to);
    else
        dequantize_column(RUNG_Q4_0, slice->steps, from, next, to);
}

/* Dequantizes column `c` of a slice of narrow elements, and stores zeros behind the end of k. */
RUNGI_TARGET_AMX static void dequantize_narrow_column(const tiles_run_t *run, const tiles_slice_t *slice, int64_t c)
{
    const rungi_cpu_job *job = run->job;
    rungi_cpu_dequantize_column_function *column = rungi_cpu_dequantize_column_select(job->features->isa);
    const int64_t steps = RUNGI_DEQUANTIZE_LINE / STEP; /* per line */
    char *to = slice->b + c * b_stride(&run->sizes);
    if (slice->j + c >= run->cols)
        return;
    for (int64_t step = 0; step < slice->steps; step += steps) {
        _Alignas(64) float values[RUNGI_DEQUANTIZE_LINE];
        int64_t p = run->p + slice->p + step * STEP, count = rungi_min(RUNGI_DEQUANTIZE_LINE, job->k - p);
        column(&job->narrow_b, p, run->j + slice->j + c, count, values);
        memset(values + count, 0, (size_t)(RUNGI_DEQUANTIZE_LINE - count) * sizeof *values);
        for (int64_t s = 0; s < steps && step + s < slice->steps; s++, to += STEP_BYTES)
            _mm512_store_si512(to, (__m512i)_mm512_cvtne2ps_pbh(_mm512_load_ps(values + s * STEP + SIDE),
                                                                _mm512_load_ps(values + s * STEP)));
    }
}

/* Returns how many blocks of 16 columns of a packed B are dequantized at a time. */
static int64_t packed_group(rung_type type)
{
    return type == RUNG_Q8_0 ? 2 : 4;
}

/* Dequantizes a group of blocks of 16 columns of a packed B. */
INLINE void dequantize_packed_group(rung_type type, const tiles_run_t *run, const tiles_slice_t *slice, int64_t c,
                                    int64_t step)
{
    const int64_t group = packed_group(type);
    int64_t stride = b_stride(&run->sizes), blocks = rungi_min(group, slice->steps - step);
    char *to = slice->b + c * stride + step * STEP_BYTES;
    __m512i columns[SIDE];
    _Alignas(64) float scales[4 * SIDE];
    rungi_quantized_unpack_blocks(run->job, run->job->first_col + run->j + slice->j + c,
                                  (run->p + slice->p) / STEP + step, blocks, columns, scales);
    for (int64_t l = 0; l < SIDE; l++)
        for (int64_t b = 0; b < blocks; b++) {
            __m512 scale = _mm512_set1_ps(scales[b * SIDE + l]);
            const char *bytes = (const char *)&columns[l] + b * 64 / group;
            __m512i rounded = type == RUNG_Q8_0
                                  ? dequantize_q8_0(_mm256_load_si256((const __m256i *)(const void *)bytes), scale)
                                  : dequantize_q4_0(_mm_load_si128((const __m128i *)(const void *)bytes), scale);
            _mm512_store_si512(to + l * stride + b * STEP_BYTES, rounded);
        }
}

/* Dequantizes part `part` of a slice of a packed B: a group of blocks of one half of the columns. */
RUNGI_TARGET_AMX static void dequantize_packed_part(const tiles_run_t *run, const tiles_slice_t *slice, int64_t part)
{
    int64_t c = part % 2 * SIDE, step = part / 2 * packed_group(run->job->b_type);
    if (slice->j + c >= run->cols)
        return;
    if (run->job->b_type == RUNG_Q8_0)
        dequantize_packed_group(RUNG_Q8_0, run, slice, c, step);
    else
        dequantize_packed_group(RUNG_Q4_0, run, slice, c, step);
}

/* Returns the number of parts in which a slice is dequantized. */
static int64_t slice_parts(const tiles_run_t *run, const tiles_slice_t *slice)
{
    return run->job->packed ? 2 * rungi_ceil_divide(slice->steps, packed_group(run->job->b_type)) : PANEL;
}

/* Dequantizes the parts of a slice that belong to step `step` of `steps`: all steps together dequantize all parts. */
RUNGI_TARGET_AMX static void dequantize_parts(const tiles_run_t *run, const tiles_slice_t *slice, int64_t step,
                                              int64_t steps)
{
    int64_t parts = slice_parts(run, slice);
    for (int64_t part = parts * step / steps; part < parts * (step + 1) / steps; part++)
        (rungi_cpu_dequantizes(run->job) ? dequantize_narrow_column
         : run->job->packed              ? dequantize_packed_part
                                         : dequantize_slice_column)(run, slice, part);
}

/* ---- Tiles --------------------------------------------------------------------------------------------------------- */

/* The operands of a call of a tile loop: a slice of B, which is multiplied, the slice that is dequantized meanwhile, or NULL, a
 * panel of A, and sums. */
typedef struct tiles_operands {
    const tiles_run_t *run;
    const tiles_slice_t *slice, *next;
    const char *a;
    float *sums;
} tiles_operands_t;

/* Computes 32 x 32 sums, or 32 x 16 if A has at most 16 rows. Tiles 0 to 3 are sums, 4 and 5 columns of B, 6 and 7 rows of A. */
INLINE void multiply_tiles(const tiles_operands_t *operands, bool is_wide)
{
    const tiles_run_t *run = operands->run;
    int64_t stride = sums_stride(&run->sizes), bytes = stride * (int64_t)sizeof(float), steps = operands->slice->steps;
    int64_t columns = b_stride(&run->sizes);
    float *sums = operands->sums, *lower = sums + SIDE * stride;
    const char *a = operands->a, *b = operands->slice->b, *b_lower = b + SIDE * columns;
    _tile_loadd(0, sums, bytes);
    _tile_loadd(2, lower, bytes);
    if (is_wide) {
        _tile_loadd(1, sums + SIDE, bytes);
        _tile_loadd(3, lower + SIDE, bytes);
    }
    for (int64_t step = 0; step < steps; step++, a += 2 * TILE, b += STEP_BYTES, b_lower += STEP_BYTES) {
        _tile_loadd(6, a, 64);
        _tile_loadd(4, b, columns);
        _tile_dpbf16ps(0, 4, 6);
        if (is_wide) {
            _tile_loadd(7, a + TILE, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        _tile_loadd(5, b_lower, columns);
        _tile_dpbf16ps(2, 5, 6);
        if (is_wide)
            _tile_dpbf16ps(3, 5, 7);
        if (operands->next)
            dequantize_parts(run, operands->next, step, steps);
    }
    _tile_stored(0, sums, bytes);
    _tile_stored(2, lower, bytes);
    if (is_wide) {
        _tile_stored(1, sums + SIDE, bytes);
        _tile_stored(3, lower + SIDE, bytes);
    }
}

RUNGI_TARGET_AMX static void multiply_32x32(const tiles_operands_t *operands)
{
    multiply_tiles(operands, true);
}

RUNGI_TARGET_AMX static void multiply_32x16(const tiles_operands_t *operands)
{
    multiply_tiles(operands, false);
}

/* Adds the products of a slice to the sums of its panel of columns, and dequantizes the next slice, if there is one. */
static void multiply_slice(const tiles_run_t *run, const tiles_slice_t *slice, const tiles_slice_t *next)
{
    int64_t a_panel = run->chunk / STEP * 2 * TILE;
    for (int64_t i = 0; i < run->rows; i += PANEL) {
        tiles_operands_t operands = {run, slice, i == 0 ? next : NULL,
                                     run->a + i / PANEL * a_panel + slice->p / STEP * 2 * TILE,
                                     run->sums + slice->j * sums_stride(&run->sizes) + i};
        (run->rows - i > SIDE ? multiply_32x32 : multiply_32x16)(&operands);
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

/* Returns the slice from column `j` of the block and element `p` of the chunk on, whose place is slot 0 or 1. */
static tiles_slice_t slice_at(const tiles_run_t *run, int64_t j, int64_t p, int slot)
{
    return (tiles_slice_t){j, p, rungi_min(run->sizes.slice, run->chunk - p) / STEP, run->b[slot]};
}

/* Multiplies the chunk of A by all slices of a block of columns. */
static void multiply_chunk(const tiles_run_t *run)
{
    int slot = 0;
    tiles_slice_t slice = slice_at(run, 0, 0, slot);
    dequantize_parts(run, &slice, 0, 1);
    while (slice.j < run->cols) {
        bool is_last = slice.p + run->sizes.slice >= run->chunk;
        slot = !slot;
        tiles_slice_t next = slice_at(run, is_last ? slice.j + PANEL : slice.j,
                                      is_last ? 0 : slice.p + run->sizes.slice, slot);
        multiply_slice(run, &slice, next.j < run->cols ? &next : NULL);
        slice = next;
    }
}

/* Packs a chunk of A, unless it is the whole k and was packed for the first block of columns. */
static void prepare_chunk(tiles_run_t *run)
{
    bool is_packed = run->sizes.chunk >= run->job->k && run->j > 0;
    run->chunk = rungi_round_up(rungi_min(run->sizes.chunk, run->job->k - run->p), STEP);
    if (!is_packed)
        pack_a(run);
}

static void multiply_block(tiles_run_t *run)
{
    const rungi_cpu_job *job = run->job;
    memset(run->sums, 0, (size_t)(run->sizes.cols * sums_stride(&run->sizes)) * sizeof *run->sums);
    for (run->p = 0; run->p < job->k; run->p += run->sizes.chunk) {
        prepare_chunk(run);
        multiply_chunk(run);
    }
    for (int64_t j = 0; j < run->cols; j += SIDE)
        store_columns(run, j);
}

RUNGI_TARGET_AMX void rungi_quantized_tiles_run(const rungi_cpu_job *job, const rungi_quantized_tiles_blocks *sizes)
{
    tiles_run_t run = {.job = job, .sizes = *sizes, .a = job->scratch};
    run.b[0] = run.a + a_bytes(sizes);
    run.b[1] = run.b[0] + PANEL * b_stride(sizes);
    run.sums = (float *)(void *)(run.b[1] + PANEL * b_stride(sizes));
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
