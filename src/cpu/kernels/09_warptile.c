/* SPDX-License-Identifier: Apache-2.0 */
/* 09_warptile - packed panels, and five loops around the tile of 08.
 *
 * Removes  the dependence of 08_vector on the caller's layout. Blocks of A and B are first copied (packed) in the
 *          order in which tiles read them: reads are contiguous for all strides, every element of a cache line is
 *          used, and elements are converted once instead of once per tile. Each copy is used MC or NC times, which
 *          pays for it.
 * Leaves   all cores but one idle, and waits for operands that are not in the cache yet (see 10).
 * Watch    rung bench --device cpu --kernels 08,09
 *
 * The loops are those of Goto and of BLIS. A KC x NC panel of B stays in the last-level cache and an MC x KC block of A
 * in L2. One micro-panel of B, NR columns, stays in L1 while all micro-panels of the block are multiplied with it.
 * Incomplete micro-panels are padded with zeros. If k is larger than KC, sums are kept in scratch memory between blocks.
 */
#include "cpu/kernels/typed_epilogue.h"
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

/* Multiples of the tile sizes of all instruction sets: 6 or 14 rows, and 4, 8, 16 or 32 columns. */
#define BM 42
#define BN 32

#if MC < 1 || NC < 1 || KC < 1 || MC * KC > 4194304 || NC * KC > 4194304 || MC * NC > 4194304
#error "MC, NC and KC must be at least 1, and MC * KC, NC * KC and MC * NC at most 2^22"
#endif
#if MC % BM != 0 || NC % BN != 0
#error "MC must be a multiple of 42 and NC of 32"
#endif

/* Bounds the sums that are kept between K blocks, unless one block of C has more. */
enum { SUMS_MAX = 1 << 22 };

/* ---- Packing ------------------------------------------------------------------------------- */

/* Packs a micro-panel whose `width` elements per step of k are contiguous. */
static inline void pack_contiguous(const in_t *from, int64_t k_stride, int64_t k, int64_t width, sum_t *to)
{
    for (int64_t p = 0; p < k; p++)
        if (width % LANES == 0)
            for (int64_t i = 0; i < width; i += LANES)
                store_sums(to + p * width + i, load(from + p * k_stride + i));
        else
            for (int64_t i = 0; i < width; i++)
                to[p * width + i] = widen_scalar(from[p * k_stride + i]);
}

/* Stores the first `count` elements of a vector `width` elements apart. */
static inline void store_column(vec_t column, int64_t count, int64_t width, sum_t *to)
{
    for (int64_t x = 0; x < count; x++)
        to[x * width] = column[x];
}

/* Packs a micro-panel one row of A or column of B at a time, one vector of steps at a time. */
static inline void pack_strided(const in_t *from, int64_t outer_stride, int64_t k_stride, int64_t count, int64_t k,
                                int64_t width, sum_t *to)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t p = 0; p < k; p += LANES) {
            const in_t *first = from + i * outer_stride + p * k_stride;
            const int64_t steps = rungi_min(k - p, LANES);
            if (k_stride != 1)
                store_column(load_strided(first, k_stride, steps), steps, width, to + p * width + i);
            else if (steps < LANES)
                store_column(load_partial(first, steps), steps, width, to + p * width + i);
            else
                store_column(load(first), LANES, width, to + p * width + i);
        }
}

/* Packs a micro-panel: `count` rows of A or columns of B, outer_stride elements apart, with k steps k_stride elements
 * apart. Each step becomes `width` contiguous elements, padded with zeros. */
static inline __attribute__((always_inline)) void pack_micro_panel(const in_t *from, int64_t outer_stride,
                                                                   int64_t k_stride, int64_t count, int64_t k,
                                                                   int64_t width, sum_t *to)
{
    if (count < width)
        memset(to, 0, (size_t)(k * width) * sizeof(sum_t));
    if (outer_stride == 1 && count == width)
        pack_contiguous(from, k_stride, k, width, to);
    else
        pack_strided(from, outer_stride, k_stride, count, k, width, to);
}

/* Packs all micro-panels of a block of A or of a panel of B. */
static inline __attribute__((always_inline)) void pack(const in_t *from, int64_t outer_stride, int64_t k_stride,
                                                       int64_t count, int64_t k, int64_t width, sum_t *to)
{
    for (int64_t i = 0; i < count; i += width, to += width * k)
        pack_micro_panel(from + i * outer_stride, outer_stride, k_stride, rungi_min(count - i, width), k, width, to);
}

/* ---- The register tile ------------------------------------------------------------------------------- */

/* Adds a micro-panel of A times a micro-panel of B to the MR x NR sums of a tile, or starts them at zero. */
static void accumulate_tile(const sum_t *a, const sum_t *b, int64_t k, bool is_first, sum_t *sums)
{
    vec_t sum[MR][2];
    for (int r = 0; r < MR; r++)
        for (int c = 0; c < 2; c++)
            sum[r][c] = is_first ? (vec_t){0} : load_sums(sums + r * NR + c * LANES);
    for (int64_t p = 0; p < k; p++) {
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

/* Scratch memory: a packed block of A, a packed panel of B, and sums. */
typedef struct buffers {
    sum_t *a, *b, *sums;
} buffers_t;

/* The first row and column of C, and the first step of k, of a panel. */
typedef struct panel_origin {
    int64_t i, j, p;
} panel_origin_t;

/* Returns the sums of the tile at (r, c) of a panel. With a single K block no sum is kept, and all tiles share one buffer. */
static sum_t *tile_sums(const rungi_cpu_job *job, const buffers_t *buffers, int64_t r, int64_t c)
{
    const int64_t nc = job->parameters[1], kc = job->parameters[2];
    return job->k > kc ? buffers->sums + r * nc + c * MR : buffers->sums;
}

/* Multiplies a packed block of A with the packed panel of B. The block begins `first` rows into the panel of C. */
static void accumulate_packed_block(const rungi_cpu_job *job, panel_origin_t origin, const rungi_cpu_job *block,
                                    int64_t first, const buffers_t *buffers)
{
    for (int64_t c = 0; c < block->n; c += NR)
        for (int64_t r = 0; r < block->m; r += MR) {
            sum_t *sums = tile_sums(job, buffers, first + r, c);
            accumulate_tile(buffers->a + r * block->k, buffers->b + c * block->k, block->k, origin.p == 0, sums);
            if (origin.p + block->k == job->k)
                epilogue_store_block(job, origin.i + first + r, origin.j + c, MR, NR, sums);
        }
}

/* Computes NC columns and `rows` rows of C: packs each panel of B once, and multiplies it with all blocks of A. */
static void compute_panel(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t rows, const buffers_t *buffers)
{
    const int64_t mc = job->parameters[0], nc = job->parameters[1], kc = job->parameters[2];
    for (int64_t p = 0; p < job->k; p += kc) {
        const rungi_cpu_job panel = block_of(job, i, j, p, rows, nc, kc);
        pack(panel.b.first, panel.b.col_stride, panel.b.row_stride, panel.n, panel.k, NR, buffers->b);
        for (int64_t r = 0; r < panel.m; r += mc) {
            const rungi_cpu_job block = block_of(&panel, r, 0, 0, mc, nc, kc);
            pack(block.a.first, block.a.row_stride, block.a.col_stride, block.m, block.k, MR, buffers->a);
            accumulate_packed_block(job, (panel_origin_t){i, j, p}, &block, r, buffers);
        }
    }
}

/* Returns the number of rows of C whose sums are kept at a time, a multiple of MC. */
static int64_t rows_per_pass(const rungi_cpu_job *job)
{
    const int64_t mc = job->parameters[0], blocks = SUMS_MAX / job->parameters[1] / mc;
    return blocks > 1 ? blocks * mc : mc;
}

static void run(const rungi_cpu_job *job)
{
    const int64_t mc = job->parameters[0], nc = job->parameters[1], kc = job->parameters[2];
    const int64_t rows = rows_per_pass(job);
    buffers_t buffers = {.a = (sum_t *)job->scratch};
    buffers.b = buffers.a + mc * kc;
    buffers.sums = buffers.b + nc * kc;
    if (job->k == 0)
        epilogue_store_zeros(job);
    else
        for (int64_t j = 0; j < job->n; j += nc)
            for (int64_t i = 0; i < job->m; i += rows)
                compute_panel(job, i, j, rows, &buffers);
}

static rung_status configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config)
{
    const int64_t mc = job->parameters[0], nc = job->parameters[1], kc = job->parameters[2];
    int64_t rows = rungi_min(rows_per_pass(job), rungi_ceil_divide(job->m, mc) * mc);
    (void)compute;
    config->scratch = (mc * kc + nc * kc + (job->k > kc ? rows * nc : MR * NR)) * (int64_t)sizeof(sum_t);
    return RUNG_OK;
}

/* Halves KC until a block of A fits L2 and a panel of B fits the core's share of L3. */
static void fit(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters)
{
    const int64_t mc = parameters[0], nc = parameters[1];
    int64_t *kc = &parameters[2];
    while (*kc > 64 && (mc * *kc * sum_bytes > blocks->packed_b || nc * *kc * sum_bytes > blocks->l3_share))
        *kc /= 2;
}

TYPED_KERNEL(09_warptile) = {.run = run, .configure = configure, .fit = fit};
