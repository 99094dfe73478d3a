/* SPDX-License-Identifier: Apache-2.0 */
/* 09_warptile - packed panels and five loops around the tile of 08.
 *
 * Removes  what 08_vector waits for: operands as the caller stores them. Blocks of A and
 *          B are copied first, in the order in which tiles read them: memory is walked
 *          along whatever the strides are, a cache line is used to its end, and
 *          elements are widened once and not once a tile. It is paid for by the
 *          copies, which each serve MC or NC times.
 * Leaves   one core at work of all there are, and the wait for what comes next (see 10).
 * Watch    rung bench --device cpu --kernels 08,09
 *
 * The loops are those of Goto and of BLIS: a panel of B, KC x NC, waits in the last
 * cache, a block of A, MC x KC, in the second, and of the panel one slice of NR columns in
 * the first while all slices of the block come by. What is missing of a slice at an edge is
 * zeros. Where k is longer than KC the sums wait in memory of their own.
 */
#include "cpu/kernels/finish.h"
#include "cpu/kernels/simd.h"

#ifndef MC
#define MC 84 // 42 84 168
#endif
#ifndef NC
#define NC 1024 // 512 1024 2048
#endif
#ifndef KC
#define KC 512 // 256 384 512
#endif
// preset tiny: MC=42,NC=32,KC=4

/* What the tiles of every processor fill: they are 6 or 14 high, and 4, 8, 16 or 32 wide. */
#define BM 42
#define BN 32

#if MC < 1 || NC < 1 || KC < 1 || MC * KC > 4194304 || NC * KC > 4194304 || MC * NC > 4194304
#error "a block has at least one element, and at most 2^22"
#endif
#if MC % BM != 0 || NC % BN != 0
#error "MC is a multiple of 42 and NC of 32"
#endif

/* So many sums wait at a time, at most, unless one block of C has more. */
enum { SUMS_MAX = 1 << 22 };

/* ---- Packing ------------------------------------------------------------------------------- */

/* A step of k at a time, whose elements lie side by side. */
static inline void pack_steps(const in_t *from, int64_t along, int64_t depth, int64_t width, sum_t *to)
{
    for (int64_t p = 0; p < depth; p++)
        if (width % LANES == 0)
            for (int64_t i = 0; i < width; i += LANES)
                store_sums(to + p * width + i, load(from + p * along + i));
        else
            for (int64_t i = 0; i < width; i++)
                to[p * width + i] = widen_one(from[p * along + i]);
}

/* A vector's elements, one below the other. */
static inline void store_column(vec_t column, int64_t count, int64_t width, sum_t *to)
{
    for (int64_t x = 0; x < count; x++)
        to[x * width] = column[x];
}

/* A vector of a row of A or a column of B at a time, in the order of its steps. */
static inline void pack_rows(const in_t *from, int64_t across, int64_t along, int64_t count, int64_t depth,
                             int64_t width, sum_t *to)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t p = 0; p < depth; p += LANES) {
            const in_t *first = from + i * across + p * along;
            const int64_t steps = rungi_smaller(depth - p, LANES);
            if (along != 1)
                store_column(load_spread(first, along, steps), steps, width, to + p * width + i);
            else if (steps < LANES)
                store_column(load_some(first, steps), steps, width, to + p * width + i);
            else
                store_column(load(first), LANES, width, to + p * width + i);
        }
}

/* A slice: so many rows of A or columns of B, `across` elements apart, and their steps of k,
 * `along` elements apart. At each step there are `width` side by side, those that are not
 * there as zeros. */
static inline __attribute__((always_inline)) void pack_slice(const in_t *from, int64_t across, int64_t along,
                                                             int64_t count, int64_t depth, int64_t width, sum_t *to)
{
    if (count < width)
        memset(to, 0, (size_t)(depth * width) * sizeof(sum_t));
    if (across == 1 && count == width)
        pack_steps(from, along, depth, width, to);
    else
        pack_rows(from, across, along, count, depth, width, to);
}

static void pack_a(const rungi_cpu_job *block, sum_t *to)
{
    const in_t *from = block->a.first;
    for (int64_t i = 0; i < block->m; i += MR, to += MR * block->k)
        pack_slice(from + at(block->a, i, 0), block->a.row_stride, block->a.col_stride, rungi_smaller(block->m - i, MR),
                   block->k, MR, to);
}

static void pack_b(const rungi_cpu_job *block, sum_t *to)
{
    const in_t *from = block->b.first;
    for (int64_t j = 0; j < block->n; j += NR, to += NR * block->k)
        pack_slice(from + at(block->b, 0, j), block->b.col_stride, block->b.row_stride, rungi_smaller(block->n - j, NR),
                   block->k, NR, to);
}

/* ---- The tile ------------------------------------------------------------------------------- */

/* Adds to the sums of a tile, which stand side by side, or begins them. */
static void add_tile(const sum_t *a, const sum_t *b, int64_t depth, bool begins, sum_t *sums)
{
    vec_t sum[MR][2];
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < 2; c++)
            sum[r][c] = begins ? (vec_t){0} : load_sums(sums + r * NR + c * LANES);
    for (int64_t p = 0; p < depth; p++) {
        const vec_t b_0 = load_sums(b + p * NR), b_1 = load_sums(b + p * NR + LANES);
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++) {
            sum[r][0] += a[p * MR + r] * b_0;
            sum[r][1] += a[p * MR + r] * b_1;
        }
    }
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < 2; c++)
            store_sums(sums + r * NR + c * LANES, sum[r][c]);
}

/* ---- The five loops -------------------------------------------------------------------------- */

/* The memory of a run. */
typedef struct room {
    sum_t *a, *b, *sums;
} room_t;

/* Where a panel begins: its row and column of C, and its step of k. */
typedef struct place {
    int64_t i, j, p;
} place_t;

/* The sums of the tile at (r, c) of a panel; where none has to wait, one place serves all. */
static sum_t *sums_of(const rungi_cpu_job *job, const room_t *room, int64_t r, int64_t c)
{
    const int64_t nc = job->parameters[1], kc = job->parameters[2];
    return job->k > kc ? room->sums + r * nc + c * MR : room->sums;
}

/* A block of C, whose steps are packed, from row `first` of its panel on. */
static void add_block(const rungi_cpu_job *job, place_t at_place, const rungi_cpu_job *block, int64_t first,
                      const room_t *room)
{
    for (int64_t c = 0; c < block->n; c += NR)
        for (int64_t r = 0; r < block->m; r += MR) {
            sum_t *sums = sums_of(job, room, first + r, c);
            add_tile(room->a + r * block->k, room->b + c * block->k, block->k, at_place.p == 0, sums);
            if (at_place.p + block->k == job->k)
                finish_block(job, at_place.i + first + r, at_place.j + c, MR, NR, sums);
        }
}

/* NC columns of C, and as many rows as may wait. */
static void make_panel(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t rows, const room_t *room)
{
    const int64_t mc = job->parameters[0], nc = job->parameters[1], kc = job->parameters[2];
    for (int64_t p = 0; p < job->k; p += kc) {
        const rungi_cpu_job panel = block_of(job, i, j, p, rows, nc, kc);
        pack_b(&panel, room->b);
        for (int64_t r = 0; r < panel.m; r += mc) {
            const rungi_cpu_job block = block_of(&panel, r, 0, 0, mc, nc, kc);
            pack_a(&block, room->a);
            add_block(job, (place_t){i, j, p}, &block, r, room);
        }
    }
}

/* Rows whose sums may wait. */
static int64_t rows_at_once(const rungi_cpu_job *job)
{
    const int64_t mc = job->parameters[0], blocks = SUMS_MAX / job->parameters[1] / mc;
    return blocks > 1 ? blocks * mc : mc;
}

static void run(const rungi_cpu_job *job)
{
    const int64_t mc = job->parameters[0], nc = job->parameters[1], kc = job->parameters[2];
    const int64_t rows = rows_at_once(job);
    room_t room = {.a = (sum_t *)job->scratch};
    room.b = room.a + mc * kc;
    room.sums = room.b + nc * kc;
    if (job->k == 0)
        finish_zeros(job);
    else
        for (int64_t j = 0; j < job->n; j += nc)
            for (int64_t i = 0; i < job->m; i += rows)
                make_panel(job, i, j, rows, &room);
}

static rung_status settle(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_form *form)
{
    const int64_t mc = job->parameters[0], nc = job->parameters[1], kc = job->parameters[2];
    int64_t rows = rungi_smaller(rows_at_once(job), rungi_divide_up(job->m, mc) * mc);
    (void)compute;
    form->scratch = (mc * kc + nc * kc + (job->k > kc ? rows * nc : MR * NR)) * (int64_t)sizeof(sum_t);
    return RUNG_OK;
}

/* A block of A stays in L2, and a panel of B in the core's share of L3. */
static void fit(const rungi_blocks *blocks, int64_t sum_bytes, int64_t *parameters)
{
    const int64_t mc = parameters[0], nc = parameters[1];
    int64_t *kc = &parameters[2];
    while (*kc > 64 && (mc * *kc * sum_bytes > blocks->packed_b || nc * *kc * sum_bytes > blocks->l3_share))
        *kc /= 2;
}

TYPED_KERNEL(09_warptile) = {.run = run, .settle = settle, .fit = fit};
