/* SPDX-License-Identifier: Apache-2.0 */
/* amx_multiply.c - see amx_multiply.h.
 *
 * A row panel is up to 32 rows of C. For each slice of k its rows of A are packed, or read in place, and multiplied with all
 * panels of B. */
#include "cpu/amx/amx_multiply.h"

#include "cpu/amx/amx_tiles.h"

#if defined(__x86_64__)
/* IN_PLACE_MAX_COLUMNS: most columns of C for which rows of A are not copied. */
enum { PANEL = RUNGI_AMX_PANEL_WIDTH, IN_PLACE_MAX_COLUMNS = 256 };

/* ---- State of a run --------------------------------------------------------------------------------- */

/* One run of a thread. */
typedef struct amx_run {
    const rungi_cpu_job *job;
    rungi_amx_blocking l;
    rungi_amx_path path;
    rungi_amx_regime regime;
    bool has_plain_output;          /* sums are stored as they are, */
    bool is_streamed;               /* past the caches */
    rungi_amx_store_target pending; /* where the sums in the tiles are stored to */
    bool is_stored;                 /* no block of C has to be stored from there: */
    rungi_cpu_c_block block[2];     /* otherwise these blocks are */
} amx_run_t;

/* Up to 32 rows of a block of C. */
typedef struct row_panel {
    int64_t i, j, height, width;
    int64_t number;      /* index of its sums */
    bool is_b_in_memory; /* first row panel of a block that reads a packed B: prefetch B from memory */
} row_panel_t;

static rungi_cpu_c_block c_block_at(const row_panel_t *s, int64_t panel)
{
    return (rungi_cpu_c_block){s->i, s->j + panel * PANEL, s->height, rungi_min(PANEL, s->width - panel * PANEL)};
}

static char *sums_at(const amx_run_t *e, const row_panel_t *s, int64_t panel)
{
    if (e->l.slices > 1)
        return e->job->scratch + e->l.sums_offset + (s->number * e->l.panels + panel) * RUNGI_AMX_SUMS_BYTES;
    return e->job->scratch + e->l.block_offset + panel % 2 * RUNGI_AMX_SUMS_BYTES;
}

static char *scratch_slice_at(const amx_run_t *e, const rungi_amx_slice *slice)
{
    return e->job->scratch + e->l.b_offset + slice->number % e->l.cached_slices * e->l.slice_bytes;
}

/* Returns the packed panels of a slice, from column j on. */
static const char *slice_at(const amx_run_t *e, const rungi_amx_slice *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    if (!job->packed)
        return scratch_slice_at(e, slice);
    return job->packed +
           rungi_amx_packed_panel_offset(&e->l, job->k, job->config->problem_n, slice, job->first_col + j);
}

/* Returns the unchanged F32 panel of column j of a packed B. */
static const float *f32_panel_at(const amx_run_t *e, const rungi_amx_slice *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    int64_t offset = rungi_amx_packed_f32_offset(&e->l, job->config->problem_n, slice, job->first_col + j);
    return (const float *)(const void *)(job->packed + offset);
}

static rungi_bf16x3_range *scratch_ranges_at(const amx_run_t *e, const rungi_amx_slice *slice)
{
    return (rungi_bf16x3_range *)(void *)(e->job->scratch + e->l.ranges_offset) +
           slice->number % e->l.cached_slices * e->l.panels;
}

static const rungi_bf16x3_range *ranges_at(const amx_run_t *e, const rungi_amx_slice *slice, int64_t j)
{
    const rungi_cpu_job *job = e->job;
    if (!job->packed)
        return scratch_ranges_at(e, slice);
    int64_t offset = rungi_amx_packed_range_offset(&e->l, job->k, job->config->problem_n, slice, job->first_col + j);
    return (const rungi_bf16x3_range *)(const void *)(job->packed + offset);
}

/* ---- Storing sums --------------------------------------------------------------------------------- */

/* Stores a block whose sums are in memory: unchanged, or through the epilogue. */
static void store_block(const amx_run_t *e, const rungi_cpu_c_block *block, const char *sums)
{
    bool is_whole = block->rows == PANEL && block->cols == PANEL;
    if (e->has_plain_output)
        rungi_amx_sums_store(e->job, block, sums, e->is_streamed && is_whole);
    else
        rungi_cpu_epilogue_apply_avx512(e->job, block, sums, PANEL);
}

/* Stores the pending block, whose tiles were stored some time ago: reading memory right after a tile store is slow. */
static void store_pending_block(amx_run_t *e)
{
    if (e->is_stored)
        return;
    store_block(e, &e->block[0], e->pending.top);
    if (e->block[1].cols > 0)
        store_block(e, &e->block[1], e->pending.bottom);
}

static rungi_amx_store_target discard_target(const amx_run_t *e)
{
    char *discarded = e->job->scratch + e->l.block_offset;
    return (rungi_amx_store_target){discarded, discarded, RUNGI_AMX_SUMS_ROW_BYTES};
}

/* Stores the pending block and remembers where the sums in the tiles belong: to their buffer, or to C itself if no step
 * follows. Only 16 x 64 has a second block. Members are assigned one by one because they are read one by one: copying the whole struct right after its members
 * were written waits for the stores, and for all tile stores before them. */
RUNGI_AMX_INLINE void replace_pending_block(amx_run_t *e, bool is_last, rungi_cpu_c_block first,
                                            rungi_cpu_c_block second, char *top, char *bottom)
{
    const rungi_cpu_job *job = e->job;
    bool is_flat = second.cols > 0;
    int64_t row = job->c.row_stride * 4;
    store_pending_block(e);
    e->is_stored = !is_last;
    e->pending.top = top;
    e->pending.bottom = bottom;
    e->pending.stride = RUNGI_AMX_SUMS_ROW_BYTES;
    e->block[0].i = first.i;
    e->block[0].j = first.j;
    e->block[0].rows = first.rows;
    e->block[0].cols = first.cols;
    e->block[1].i = second.i;
    e->block[1].j = second.j;
    e->block[1].rows = second.rows;
    e->block[1].cols = second.cols;
    if (!is_last || !e->has_plain_output || e->is_streamed || first.cols < PANEL || (is_flat && second.cols < PANEL) ||
        (is_flat ? first.rows != rungi_min(job->m, 16) : first.rows < PANEL))
        return;
    e->pending.top = (char *)job->c.first + first.i * row + first.j * 4;
    e->pending.bottom = e->pending.top + (is_flat ? RUNGI_AMX_SUMS_ROW_BYTES : 16 * row);
    e->pending.stride = row;
    e->is_stored = true;
}

RUNGI_AMX_INLINE void flush_tiles(amx_run_t *e)
{
    rungi_amx_tiles_store(&e->pending);
    store_pending_block(e);
    e->pending = discard_target(e);
    e->is_stored = true;
}

static const rungi_cpu_c_block no_block = {0, 0, 0, 0};

/* Multiplies 32 x 32 elements of C by the first step of a slice. */
RUNGI_AMX_INLINE void begin_32x32(const amx_run_t *e, bool is_i8, bool is_first, const rungi_amx_row_strides *a,
                                  const char *b, const char *sums)
{
    if (is_first)
        rungi_amx_32x32_begin(is_i8, true, a, b, &e->pending, sums);
    else
        rungi_amx_32x32_begin(is_i8, false, a, b, &e->pending, sums);
}

/* Multiplies 32 x 32 elements of C by a slice. */
RUNGI_AMX_INLINE void multiply_32x32(amx_run_t *e, bool is_i8, bool is_b_in_memory, const rungi_amx_slice *slice,
                                     const rungi_amx_row_strides *a, const char *b, char *sums, rungi_cpu_c_block block)
{
    begin_32x32(e, is_i8, slice->is_first, a, b, sums);
    bool prefetches_c = slice->is_last && e->has_plain_output && !e->is_streamed && e->regime == RUNGI_AMX_REGIME_LARGE;
    const char *c = (const char *)e->job->c.first + (block.i * e->job->c.row_stride + block.j + PANEL) * 4;
    if (is_b_in_memory)
        rungi_amx_32x32_continue(is_i8, true, slice->steps, a, b, prefetches_c ? c : NULL, e->job->c.row_stride * 4);
    else
        rungi_amx_32x32_continue(is_i8, false, slice->steps, a, b, prefetches_c ? c : NULL, e->job->c.row_stride * 4);
    replace_pending_block(e, slice->is_last, block, no_block, sums, sums + 16 * RUNGI_AMX_SUMS_ROW_BYTES);
}

/* Multiplies 16 x 64 elements of C by a slice. A last odd panel is multiplied twice and stored twice to the same place. */
RUNGI_AMX_INLINE void multiply_16x64(amx_run_t *e, bool is_i8, const rungi_amx_slice *slice, const row_panel_t *s,
                                     int64_t panel, const rungi_amx_row_strides *a, const char *b)
{
    bool is_last_odd = (panel + 1) * PANEL >= s->width;
    const char *b2 = is_last_odd ? b : b + slice->steps * RUNGI_AMX_PANEL_STEP_BYTES;
    char *top = sums_at(e, s, panel), *bottom = is_last_odd ? top : sums_at(e, s, panel + 1);
    if (slice->is_first)
        rungi_amx_16x64_begin(is_i8, true, a, b, b2, &e->pending, top, bottom);
    else
        rungi_amx_16x64_begin(is_i8, false, a, b, b2, &e->pending, top, bottom);
    if (s->is_b_in_memory)
        rungi_amx_16x64_continue(is_i8, true, slice->steps, a, b, b2);
    else
        rungi_amx_16x64_continue(is_i8, false, slice->steps, a, b, b2);
    replace_pending_block(e, slice->is_last, c_block_at(s, panel), is_last_odd ? no_block : c_block_at(s, panel + 1),
                          top, bottom);
}

/* ---- Row panels ------------------------------------------------------------------------------------------------ */

RUNGI_AMX_INLINE void row_panel_tiles(amx_run_t *e, bool is_i8, const rungi_amx_slice *slice, const row_panel_t *s,
                                      const rungi_amx_row_strides *a)
{
    const char *b = slice_at(e, slice, s->j);
    int64_t panel_bytes = slice->steps * RUNGI_AMX_PANEL_STEP_BYTES, panels_per_call = s->height <= 16 ? 2 : 1;
    for (int64_t panel = 0; panel * PANEL < s->width; panel += panels_per_call, b += panels_per_call * panel_bytes)
        if (panels_per_call == 2)
            multiply_16x64(e, is_i8, slice, s, panel, a, b);
        else
            multiply_32x32(e, is_i8, s->is_b_in_memory, slice, a, b, sums_at(e, s, panel), c_block_at(s, panel));
}

RUNGI_TARGET_AMX static void row_panel_amx(amx_run_t *e, const rungi_amx_slice *slice, const row_panel_t *s,
                                           const rungi_amx_row_strides *a)
{
    if (e->path == RUNGI_AMX_PATH_I8)
        row_panel_tiles(e, true, slice, s, a);
    else
        row_panel_tiles(e, false, slice, s, a);
}

/* Multiplies a row panel by dot products, without tiles. */
static void row_panel_dot(amx_run_t *e, bool is_i8, const rungi_amx_slice *slice, const row_panel_t *s,
                          const rungi_amx_row_strides *a)
{
    for (int64_t panel = 0; panel * PANEL < s->width; panel++) {
        const char *b = slice_at(e, slice, s->j) + panel * slice->steps * RUNGI_AMX_PANEL_STEP_BYTES;
        char *sums = sums_at(e, s, panel);
        rungi_cpu_c_block block = c_block_at(s, panel);
        rungi_avx512_dot(is_i8, s->height, slice->steps, a->first, b, slice->is_first, sums);
        if (slice->is_last)
            store_block(e, &block, sums);
    }
}

/* Packs the rows of A for FMA. Space for 32 columns of B follows them. */
static float *pack_rows_fma(const amx_run_t *e, int64_t i, int64_t rows, const rungi_amx_slice *slice)
{
    rungi_amx_operand from = rungi_amx_a_operand(&e->l, &e->job->a, i, rows, slice);
    float *to = (float *)(void *)(e->job->scratch + e->l.fma_scratch_offset);
    rungi_f32_panel_pack(&from, to);
    return to;
}

static void multiply_block_fma(amx_run_t *e, const rungi_amx_slice *slice, const rungi_cpu_c_block *block, char *sums)
{
    float *rows = pack_rows_fma(e, block->i, block->rows, slice), *packed_columns = rows + slice->k_size * PANEL;
    const float *columns = e->job->packed ? f32_panel_at(e, slice, block->j) : packed_columns;
    if (!e->job->packed) {
        rungi_amx_operand b = rungi_amx_b_operand(&e->l, &e->job->b, block->j, block->cols, slice);
        rungi_f32_panel_pack(&b, packed_columns);
    }
    rungi_f32_panel_multiply(PANEL, slice->k_size, rows, columns, slice->is_first, (float *)(void *)sums);
    if (slice->is_last)
        store_block(e, block, sums);
}

/* Multiplies a row panel of F32. A block once summed by FMA continues with FMA, because its sums may be too small for tiles. */
RUNGI_TARGET_AMX static void row_panel_bf16x3(amx_run_t *e, const rungi_amx_slice *slice, const row_panel_t *s,
                                              const rungi_amx_row_strides *a, const rungi_bf16x3_range *range)
{
    char *uses_fma = e->job->scratch + e->l.fma_flags_offset + s->number * e->l.panels;
    const char *b = slice_at(e, slice, s->j);
    for (int64_t panel = 0; panel * PANEL < s->width; panel++, b += slice->steps * e->l.panel_step_bytes) {
        char *sums = sums_at(e, s, panel);
        rungi_cpu_c_block block = c_block_at(s, panel);
        uses_fma[panel] = (char)((!slice->is_first && uses_fma[panel]) ||
                                 !rungi_bf16x3_is_safe(range, ranges_at(e, slice, s->j) + panel, e->job->k));
        if (uses_fma[panel]) {
            if (e->pending.top == sums) /* the tiles still hold the sums to add to */
                flush_tiles(e);
            multiply_block_fma(e, slice, &block, sums);
            continue;
        }
        begin_32x32(e, false, slice->is_first, a, b + 2 * RUNGI_AMX_PANEL_STEP_BYTES, sums);
        rungi_amx_bf16x3_continue(s->is_b_in_memory, slice->steps, a->first, b);
        replace_pending_block(e, slice->is_last, block, no_block, sums, sums + 16 * RUNGI_AMX_SUMS_ROW_BYTES);
    }
}

/* Multiplies a row panel of unchanged F32 by FMA. The rows are packed once for all panels. */
static void row_panel_fma(amx_run_t *e, const rungi_amx_slice *slice, const row_panel_t *s)
{
    const float *rows = pack_rows_fma(e, s->i, s->height, slice);
    for (int64_t panel = 0; panel * PANEL < s->width; panel++) {
        char *sums = sums_at(e, s, panel);
        rungi_cpu_c_block block = c_block_at(s, panel);
        rungi_f32_panel_multiply(s->height, slice->k_size, rows, f32_panel_at(e, slice, block.j), slice->is_first,
                                 (float *)(void *)sums);
        if (slice->is_last)
            store_block(e, &block, sums);
    }
}

/* ---- Packing A ----------------------------------------------------------------------------------------------- */

/* Returns whether tiles can load the rows of A in place: whole cache lines, a stride that does not map all rows to the same
 * cache sets, and too few uses to pay for a copy. */
static bool is_in_place(const amx_run_t *e, const row_panel_t *s, const rungi_amx_slice *slice)
{
    int64_t row = e->job->a.row_stride * e->l.element_bytes;
    return e->path <= RUNGI_AMX_PATH_I8 && e->job->a.col_stride == 1 && s->height == PANEL &&
           slice->k_size % e->l.step_k == 0 && (uintptr_t)e->job->a.first % 64 == 0 && row % 64 == 0 &&
           row % 2048 != 0 && s->width <= IN_PLACE_MAX_COLUMNS;
}

/* Returns the rows of a row panel: in place, or packed at `packed`. */
static rungi_amx_row_strides rows_at(const amx_run_t *e, const row_panel_t *s, const rungi_amx_slice *slice,
                                     const char *packed)
{
    int64_t row = e->job->a.row_stride * e->l.element_bytes;
    if (is_in_place(e, s, slice))
        return (rungi_amx_row_strides){rungi_amx_a_operand(&e->l, &e->job->a, s->i, s->height, slice).first, row,
                                       16 * row, RUNGI_AMX_STEP_BYTES};
    return (rungi_amx_row_strides){packed, RUNGI_AMX_STEP_BYTES, RUNGI_AMX_TILE_BYTES, RUNGI_AMX_PANEL_STEP_BYTES};
}

/* The same after packing the rows to `to`, unless they are read in place. */
static rungi_amx_row_strides load_rows(const amx_run_t *e, const row_panel_t *s, const rungi_amx_slice *slice, char *to,
                                       rungi_bf16x3_range *range)
{
    rungi_amx_row_strides rows = rows_at(e, s, slice, to);
    if (rows.first != to)
        return rows;
    rungi_amx_operand from = rungi_amx_a_operand(&e->l, &e->job->a, s->i, s->height, slice);
    rungi_amx_rows_pack(e->l.packing, &from, to, e->path == RUNGI_AMX_PATH_BF16X3 ? range : NULL);
    for (int64_t byte = 0; e->path == RUNGI_AMX_PATH_DOT_I8 && byte < slice->steps * RUNGI_AMX_PANEL_STEP_BYTES; byte++)
        to[byte] = (char)(to[byte] ^ 0x80);
    return rows;
}

/* ---- Packing B -------------------------------------------------------------------------------------------- */

static void pack_slice(const amx_run_t *e, const rungi_amx_slice *slice, int64_t j, int64_t cols)
{
    rungi_amx_operand from = rungi_amx_b_operand(&e->l, &e->job->b, j, cols, slice);
    rungi_amx_columns_pack(e->l.packing, &from, scratch_slice_at(e, slice),
                           e->path == RUNGI_AMX_PATH_BF16X3 ? scratch_ranges_at(e, slice) : NULL);
}

/* ---- Small problems -------------------------------------------------------------------------------------------- */

/* Returns where pack_all_rows packs the rows from row i on. */
static char *packed_rows_at(const amx_run_t *e, int64_t i, int64_t slice)
{
    return e->job->scratch + e->l.a_offset + (i / PANEL * e->l.slices + slice) * e->l.panel_bytes;
}

static row_panel_t row_panel_at(const amx_run_t *e, int64_t i, int64_t j)
{
    return (row_panel_t){i, j, rungi_min(PANEL, e->job->m - i), rungi_min(e->l.nc, e->job->n - j), i / PANEL, false};
}

static void pack_all_rows(const amx_run_t *e)
{
    for (int64_t i = 0; i < e->job->m; i += PANEL)
        for (int64_t number = 0; number < e->l.slices; number++) {
            row_panel_t s = row_panel_at(e, i, 0);
            rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, number);
            load_rows(e, &s, &slice, packed_rows_at(e, i, number), NULL);
        }
}

RUNGI_AMX_INLINE void multiply_small(amx_run_t *e, bool is_i8)
{
    pack_all_rows(e);
    for (int64_t j = 0; j < e->job->n; j += e->l.nc)
        for (int64_t number = 0; number < e->l.slices; number++) {
            rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, number);
            int64_t cols = rungi_min(e->l.nc, e->job->n - j);
            const char *b = slice_at(e, &slice, j);
            if (!e->job->packed)
                pack_slice(e, &slice, j, cols);
            for (int64_t panel = 0; panel * PANEL < cols; panel++)
                for (int64_t i = 0; i < e->job->m; i += PANEL) {
                    row_panel_t s = row_panel_at(e, i, j);
                    rungi_amx_row_strides a = rows_at(e, &s, &slice, packed_rows_at(e, i, number));
                    multiply_32x32(e, is_i8, false, &slice, &a, b + panel * slice.steps * RUNGI_AMX_PANEL_STEP_BYTES,
                                   sums_at(e, &s, panel), c_block_at(&s, panel));
                }
        }
}

/* ---- Large problems -------------------------------------------------------------------------------------------------- */

static void multiply_row_panel(amx_run_t *e, const rungi_amx_slice *slice, const row_panel_t *s)
{
    rungi_bf16x3_range range = {0, 0, 0};
    if (e->path == RUNGI_AMX_PATH_FMA_FEW_ROWS) {
        row_panel_fma(e, slice, s);
        return;
    }
    rungi_amx_row_strides a = load_rows(e, s, slice, e->job->scratch + e->l.a_offset, &range);
    switch (e->path) {
    case RUNGI_AMX_PATH_BF16:
    case RUNGI_AMX_PATH_I8: row_panel_amx(e, slice, s, &a); break;
    case RUNGI_AMX_PATH_BF16X3: row_panel_bf16x3(e, slice, s, &a, &range); break;
    default: row_panel_dot(e, e->path == RUNGI_AMX_PATH_DOT_I8, slice, s, &a);
    }
}

/* Multiplies a block of C by the packed slices first ... end - 1. */
static void multiply_slices(amx_run_t *e, int64_t i, int64_t j, int64_t first, int64_t end)
{
    int64_t height = rungi_min(e->l.mc, e->job->m - i);
    for (int64_t x = 0; x < height; x += PANEL) {
        row_panel_t s = row_panel_at(e, i + x, j);
        s.number = e->l.slices > e->l.slices_per_pass ? x / PANEL : 0;
        s.is_b_in_memory = x == 0 && e->job->packed;
        for (int64_t number = first; number < end; number++) {
            rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, number);
            multiply_row_panel(e, &slice, &s);
        }
    }
}

/* Computes the mc x nc block of C at (i, j). */
static void multiply_block(amx_run_t *e, int64_t i, int64_t j)
{
    bool is_packed = e->job->packed || (i > 0 && e->l.cached_slices == e->l.slices);
    for (int64_t first = 0; first < e->l.slices; first += e->l.slices_per_pass) {
        int64_t end = rungi_min(first + e->l.slices_per_pass, e->l.slices);
        for (int64_t number = first; number < end && !is_packed; number++) {
            rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, number);
            pack_slice(e, &slice, j, rungi_min(e->l.nc, e->job->n - j));
        }
        multiply_slices(e, i, j, first, end);
    }
}

static void multiply_large(amx_run_t *e)
{
    for (int64_t j = 0; j < e->job->n; j += e->l.nc)
        for (int64_t i = 0; i < e->job->m; i += e->l.mc)
            multiply_block(e, i, j);
}

/* ---- The whole job -------------------------------------------------------------------------------------- */

RUNGI_TARGET_AMX static void run_on_amx(amx_run_t *e)
{
    bool has_squares = e->path == RUNGI_AMX_PATH_BF16X3 ||
                       e->regime == RUNGI_AMX_REGIME_SMALL; /* tiles of 16 rows, even if C has fewer */
    rungi_amx_tiles_configure(has_squares ? 16 : e->job->m);
    if (e->regime != RUNGI_AMX_REGIME_SMALL)
        multiply_large(e);
    else if (e->path == RUNGI_AMX_PATH_I8)
        multiply_small(e, true);
    else
        multiply_small(e, false);
    flush_tiles(e);
    _tile_release();
}

static bool has_plain_output(const rungi_cpu_job *job)
{
    return (job->out == RUNG_F32 || job->out == RUNG_I32) && job->alpha == 1 && job->beta == 0 &&
           !rungi_cpu_has_epilogue(job) && job->c.col_stride == 1;
}

RUNGI_TARGET_AVX512 void rungi_amx_multiply(const rungi_cpu_job *job, const rungi_amx_blocking *blocking,
                                            rungi_amx_path path, rungi_amx_regime regime, int64_t streamed_elements)
{
    amx_run_t e = {.job = job,
                   .l = *blocking,
                   .path = path,
                   .regime = regime,
                   .has_plain_output = has_plain_output(job),
                   .is_stored = true};
    e.is_streamed = e.has_plain_output && (uintptr_t)job->c.first % 64 == 0 && job->c.row_stride % 16 == 0 &&
                    job->m * job->n >= streamed_elements;
    e.pending = discard_target(&e);
    if (path <= RUNGI_AMX_PATH_BF16X3)
        run_on_amx(&e);
    else
        multiply_large(&e);
    if (e.is_streamed)
        _mm_sfence();
}
#endif
