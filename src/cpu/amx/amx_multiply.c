/* SPDX-License-Identifier: Apache-2.0 */
/* amx_multiply.c - see amx_multiply.h.
 *
 * A row panel is up to 32 rows of C. For each slice of k its rows of A are packed, or read in place, and multiplied with all
 * panels of B. Meanwhile, the rows of A of the next row panel are copied. */
#include "cpu/amx/amx_multiply.h"

#include "cpu/amx/amx_tiles.h"

#if defined(__x86_64__)
/* IN_PLACE_MAX_COLUMNS: most columns of C for which rows of A are not copied. MAX_COPIED_ROWS: most rows of A that are copied
 * while one panel of B is multiplied. */
enum { PANEL = RUNGI_AMX_PANEL_WIDTH, IN_PLACE_MAX_COLUMNS = 256, MAX_COPIED_ROWS = 8 };

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
    rungi_amx_ahead ahead[2];       /* the next rows of A and the next slice of B */
    rungi_amx_copy copy;            /* of the next rows of A, */
    int64_t copied_i, copied_slice; /* which begin at this row and slice; the row is -1 if they are not copied */
    int64_t copied_rows;            /* the rows that are copied so far */
    int64_t a_buffer;               /* 0 or 1: where the rows of A are that are multiplied */
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
RUNGI_AMX_INLINE void begin_32x32(const amx_run_t *e, bool is_i8, bool is_b_streamed, bool is_first,
                                  const rungi_amx_row_strides *a, const char *b, const char *sums)
{
    if (is_first)
        rungi_amx_32x32_begin(is_i8, true, is_b_streamed, a, b, &e->pending, sums);
    else
        rungi_amx_32x32_begin(is_i8, false, is_b_streamed, a, b, &e->pending, sums);
}

/* Continues the copy of A after a panel of B. */
static inline void advance_copy(amx_run_t *e)
{
    if (e->copy.rows == 0)
        return; /* the addresses may be NULL */
    e->copied_rows += e->copy.rows;
    e->copy.from += e->copy.rows * e->copy.stride;
    e->copy.to += e->copy.rows * RUNGI_AMX_STEP_BYTES;
    e->copy.rows = rungi_min(e->copy.rows, PANEL - e->copied_rows);
}

/* Multiplies 32 x 32 elements of C by a slice. */
RUNGI_AMX_INLINE void multiply_32x32(amx_run_t *e, bool is_i8, bool is_b_streamed, bool is_b_in_memory,
                                     const rungi_amx_slice *slice, const rungi_amx_row_strides *a, const char *b,
                                     char *sums, rungi_cpu_c_block block)
{
    begin_32x32(e, is_i8, is_b_streamed, slice->is_first, a, b, sums);
    bool prefetches_c = slice->is_last && e->has_plain_output && !e->is_streamed && e->regime == RUNGI_AMX_REGIME_LARGE;
    const char *c = (const char *)e->job->c.first + (block.i * e->job->c.row_stride + block.j + PANEL) * 4;
    if (is_b_in_memory)
        rungi_amx_32x32_continue(is_i8, is_b_streamed, true, slice->steps, a, b, prefetches_c ? c : NULL,
                                 e->job->c.row_stride * 4, e->ahead, &e->copy);
    else
        rungi_amx_32x32_continue(is_i8, is_b_streamed, false, slice->steps, a, b, prefetches_c ? c : NULL,
                                 e->job->c.row_stride * 4, e->ahead, &e->copy);
    advance_copy(e);
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
            multiply_32x32(e, is_i8, true, s->is_b_in_memory, slice, a, b, sums_at(e, s, panel), c_block_at(s, panel));
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
        begin_32x32(e, false, true, slice->is_first, a, b + 2 * RUNGI_AMX_PANEL_STEP_BYTES, sums);
        rungi_amx_bf16x3_continue(s->is_b_in_memory, slice->steps, a->first, b, e->ahead);
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

/* Returns where one of the two packed panels of A is. */
static char *a_buffer_at(const amx_run_t *e, int64_t buffer)
{
    return e->job->scratch + e->l.a_offset + buffer * e->l.panel_bytes;
}

/* Returns the rows of a row panel, which may already be copied. */
RUNGI_TARGET_AMX static rungi_amx_row_strides load_next_rows(amx_run_t *e, const row_panel_t *s,
                                                             const rungi_amx_slice *slice, rungi_bf16x3_range *range)
{
    e->a_buffer ^= 1;
    if (e->copied_i != s->i || e->copied_slice != slice->number)
        return load_rows(e, s, slice, a_buffer_at(e, e->a_buffer), range);
    return rows_at(e, s, slice, a_buffer_at(e, e->a_buffer));
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
                    multiply_32x32(e, is_i8, false, false, &slice, &a,
                                   b + panel * slice.steps * RUNGI_AMX_PANEL_STEP_BYTES, sums_at(e, &s, panel),
                                   c_block_at(&s, panel));
                }
        }
}

/* ---- Large problems: the order of their parts ------------------------------------------------------------------------ */

/* A pass: a block of C and the first of the slices that are multiplied together. */
typedef struct pass {
    int64_t i, j, first;
} pass_t;

static bool is_packed_pass(const amx_run_t *e, const pass_t *pass)
{
    return e->job->packed || (pass->i > 0 && e->l.cached_slices == e->l.slices);
}

/* Returns the pass that follows. j is past the last column if there is no other one. */
static pass_t next_pass(const amx_run_t *e, pass_t pass)
{
    pass.first += e->l.slices_per_pass;
    if (pass.first < e->l.slices)
        return pass;
    pass.first = 0;
    pass.i += e->l.mc;
    if (pass.i < e->job->m)
        return pass;
    return (pass_t){0, pass.j + e->l.nc, 0};
}

static bool is_same_pass(const pass_t *x, const pass_t *y)
{
    return x->i == y->i && x->j == y->j && x->first == y->first;
}

/* A row panel, which begins at row i of C, and a slice of a pass. */
typedef struct position {
    pass_t pass;
    int64_t i, number;
} position_t;

/* Returns the position that follows. pass.j is past the last column if there is no other one. */
static position_t next_position(const amx_run_t *e, position_t at)
{
    int64_t end_i = rungi_min(at.pass.i + e->l.mc, e->job->m);
    if (++at.number < rungi_min(at.pass.first + e->l.slices_per_pass, e->l.slices))
        return at;
    at.number = at.pass.first;
    at.i += PANEL;
    if (at.i < end_i)
        return at;
    at.pass = next_pass(e, at.pass);
    return (position_t){at.pass, at.pass.i, at.pass.first};
}

static bool is_at_end(const amx_run_t *e, const position_t *at)
{
    return at->pass.j >= e->job->n;
}

/* ---- Prefetching ---------------------------------------------------------------------------------------------- */

/* Returns `rows` rows of `bytes` bytes. */
static rungi_amx_ahead ahead_rows(const char *first, int64_t rows, int64_t bytes, int64_t stride)
{
    int64_t pairs = rungi_ceil_divide(bytes, 128);
    return (rungi_amx_ahead){first, pairs, pairs > 0 ? rows : 0, pairs, stride - 128 * pairs};
}

/* Returns the memory of an operand that is contiguous in one direction. */
static rungi_amx_ahead ahead_operand(const rungi_amx_operand *from, int64_t size)
{
    if (from->k_stride == 1)
        return ahead_rows(from->first, from->outer, from->k * size, from->outer_stride * size);
    if (from->outer_stride == 1)
        return ahead_rows(from->first, from->k, from->outer * size, from->k_stride * size);
    return (rungi_amx_ahead){NULL, 0, 0, 0, 0};
}

/* Prefetches the first slice of a pass. If a pass takes all of k, its slices of B fill L2 and leave no space for this. */
static void prefetch_pass(amx_run_t *e, const pass_t *pass)
{
    e->ahead[1].rows_left = 0;
    if (pass->j >= e->job->n || e->l.slices_per_pass == e->l.slices)
        return;
    rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, pass->first);
    int64_t cols = rungi_min(e->l.nc, e->job->n - pass->j);
    if (is_packed_pass(e, pass)) {
        e->ahead[1] = ahead_rows(slice_at(e, &slice, pass->j), 1,
                                 rungi_ceil_divide(cols, PANEL) * slice.steps * e->l.panel_step_bytes, 0);
    } else {
        rungi_amx_operand from = rungi_amx_b_operand(&e->l, &e->job->b, pass->j, cols, &slice);
        e->ahead[1] = ahead_operand(&from, e->l.element_bytes);
    }
}

/* Prefetches the rows of A of a position. */
static void prefetch_rows(amx_run_t *e, const position_t *at)
{
    e->ahead[0].rows_left = 0;
    if (is_at_end(e, at))
        return;
    rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, at->number);
    rungi_amx_operand from = rungi_amx_a_operand(&e->l, &e->job->a, at->i, rungi_min(PANEL, e->job->m - at->i), &slice);
    e->ahead[0] = ahead_operand(&from, e->l.element_bytes);
}

/* Returns whether the tile loops can copy the rows of A of a row panel: whole cache lines of BF16 or INT8, contiguous along k,
 * that tiles do not load in place. */
static bool can_copy_ahead(const amx_run_t *e, const row_panel_t *s, const rungi_amx_slice *slice)
{
    return e->path <= RUNGI_AMX_PATH_I8 && e->job->a.col_stride == 1 && s->height == PANEL &&
           slice->k_size % e->l.step_k == 0 && !is_in_place(e, s, slice);
}

/* Prepares the copy of the rows of A of the next position, which is made while those of `s` are multiplied by a slice, and
 * the prefetch of the rows that follow. */
static void begin_copy_ahead(amx_run_t *e, const row_panel_t *s, const rungi_amx_slice *slice, const position_t *next)
{
    e->copy.rows = e->copy.steps = 0;
    e->copied_i = -1;
    prefetch_rows(e, next);
    if (is_at_end(e, next))
        return;
    rungi_amx_slice next_slice = rungi_amx_slice_at(&e->l, e->job->k, next->number);
    row_panel_t next_s = row_panel_at(e, next->i, next->pass.j);
    int64_t rows = rungi_ceil_divide(PANEL, rungi_ceil_divide(s->width, PANEL));
    if (!can_copy_ahead(e, &next_s, &next_slice) || s->height <= 16 || rows > MAX_COPIED_ROWS ||
        next_slice.steps > slice->steps) /* the loop of 16 x 64 does not copy */
        return;
    position_t after = next_position(e, *next);
    prefetch_rows(e, &after);
    e->copied_i = next->i;
    e->copied_slice = next->number;
    e->copied_rows = 0;
    e->copy.from = rungi_amx_a_operand(&e->l, &e->job->a, next->i, PANEL, &next_slice).first;
    e->copy.to = a_buffer_at(e, e->a_buffer ^ 1);
    e->copy.stride = e->job->a.row_stride * e->l.element_bytes;
    e->copy.rows = rows;
    e->copy.steps = next_slice.steps;
}

/* ---- Large problems: row panels -------------------------------------------------------------------------------------- */

static void multiply_row_panel(amx_run_t *e, const rungi_amx_slice *slice, const row_panel_t *s, const position_t *next)
{
    rungi_bf16x3_range range = {0, 0, 0};
    if (e->path == RUNGI_AMX_PATH_FMA_FEW_ROWS) {
        row_panel_fma(e, slice, s);
        return;
    }
    rungi_amx_row_strides a = load_next_rows(e, s, slice, &range);
    begin_copy_ahead(e, s, slice, next);
    switch (e->path) {
    case RUNGI_AMX_PATH_BF16:
    case RUNGI_AMX_PATH_I8: row_panel_amx(e, slice, s, &a); break;
    case RUNGI_AMX_PATH_BF16X3: row_panel_bf16x3(e, slice, s, &a, &range); break;
    default: row_panel_dot(e, e->path == RUNGI_AMX_PATH_DOT_I8, slice, s, &a);
    }
}

/* ---- Passes ---------------------------------------------------------------------------------------------- */

/* Multiplies a block of C by the packed slices of a pass. */
static void multiply_pass(amx_run_t *e, const pass_t *pass)
{
    for (position_t at = {*pass, pass->i, pass->first}, next; is_same_pass(&at.pass, pass); at = next) {
        rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, at.number);
        row_panel_t s = row_panel_at(e, at.i, pass->j);
        next = next_position(e, at);
        s.number = e->l.slices > e->l.slices_per_pass ? (at.i - pass->i) / PANEL : 0;
        s.is_b_in_memory = at.i == pass->i && e->job->packed;
        multiply_row_panel(e, &slice, &s, &next);
    }
}

static void pack_pass(const amx_run_t *e, const pass_t *pass)
{
    int64_t end = rungi_min(pass->first + e->l.slices_per_pass, e->l.slices);
    for (int64_t number = pass->first; number < end && !is_packed_pass(e, pass); number++) {
        rungi_amx_slice slice = rungi_amx_slice_at(&e->l, e->job->k, number);
        pack_slice(e, &slice, pass->j, rungi_min(e->l.nc, e->job->n - pass->j));
    }
}

static void multiply_large(amx_run_t *e)
{
    for (pass_t pass = {0, 0, 0}; pass.j < e->job->n;) {
        pass_t next = next_pass(e, pass);
        prefetch_pass(e, &next);
        pack_pass(e, &pass);
        multiply_pass(e, &pass);
        pass = next;
    }
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
                   .is_stored = true,
                   .copied_i = -1};
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
