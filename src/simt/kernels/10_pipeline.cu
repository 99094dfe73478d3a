/* SPDX-License-Identifier: Apache-2.0 */
/* 10_pipeline - several tiles in flight, one barrier a tile.
 *
 * Removes  the wait of 09_warptile: while one tile is multiplied the next STAGES - 1
 *          are on their way into shared memory, without passing through registers
 *          where the machine can do that (sm_80 and later). The operands of the next
 *          step are read from shared memory while this one is multiplied.
 * Leaves   the multiply-adds themselves: FP32 arithmetic is now what bounds it (see 11
 *          and 12 for machines that multiply otherwise).
 * Watch    rung bench --kernels 09,10 --params STAGES=2,3,4
 *
 * The partial tile of k comes first, so that the loop has no edge along k. One barrier
 * is enough: a tile is overwritten only after all threads have come past the barrier
 * that follows its use. Where a thread's pieces stand is found before the loop, in which
 * nothing but additions is left of it: see docs/yardstick.md for what the loop is made of.
 */
#include "dialect.h"
#include "finish.h"
#include "tile.h"

#ifndef BM
#define BM 128 // 64 128 256
#endif
#ifndef BN
#define BN 128 // 64 128 256
#endif
#ifndef BK
#define BK 8 // 8 16
#endif
#ifndef WM
#define WM 64 // 32 64
#endif
#ifndef WN
#define WN 32 // 32 64
#endif
#ifndef TM
#define TM 8 // 4 8 16
#endif
#ifndef TN
#define TN 8 // 4 8 16
#endif
#ifndef STAGES
#define STAGES 3 // 2 3 4
#endif
/* 1: copies arrive as late as they may, in software, so that a wrong wait shows. */
#ifndef CHECKED
#define CHECKED 0 // 0 1
#endif
// preset f64: BM=64,BN=64,BK=8,WM=32,WN=32,TM=4,TN=8,STAGES=3
// preset tiny: BM=32,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4,STAGES=3
// preset wide: BM=128,BN=256,BK=8,WM=64,WN=64,TM=16,TN=8,STAGES=3
// preset small: BM=64,BN=64,BK=8,WM=32,WN=32,TM=8,TN=4,STAGES=3
// preset deep: BM=128,BN=128,BK=16,WM=64,WN=32,TM=8,TN=8,STAGES=4
// preset large: BM=128,BN=256,BK=16,WM=64,WN=64,TM=16,TN=8,STAGES=3

#if TM < 4 || TN < 4 || TM % 4 != 0 || TN % 4 != 0
#error "TM and TN must be multiples of four"
#endif
#if WM % TM != 0 || WN % TN != 0 || WM / TM * (WN / TN) != 32
#error "WM/TM x WN/TN must be the 32 threads of a warp"
#endif
#if BM < WM || BN < WN || BM % WM != 0 || BN % WN != 0
#error "WM must divide BM and WN must divide BN"
#endif
#if BK < 4 || BK % 4 != 0
#error "BK must be a multiple of four"
#endif
#if STAGES < 2 || STAGES > 8
#error "STAGES must be 2 to 8"
#endif

#define THREADS (BM / WM * (BN / WN) * 32)
#define LDA (BM + 4)
#define LDB (BN + 4)
#define STAGE (BK * (LDA + LDB)) /* elements: a tile of A and, behind it, one of B */

#if THREADS > 1024
#error "32 threads a warp must fit a block of 1024"
#endif
#if BM * BK % (4 * THREADS) != 0 || BN * BK % (4 * THREADS) != 0
#error "each thread must load as many pieces of four as any other"
#endif
#define SHARED_BYTES (STAGES * STAGE * IN_BYTES)
#if SHARED_BYTES > 227 * 1024
#error "the stages must fit 227 KiB of shared memory, the most that a block can have"
#endif

#if CHECKED && (STAGES - 1) * (BM + BN) * BK / THREADS > 256
#error "with CHECKED=1 a thread has at most 256 copies under way"
#endif

#include "async.h"

#define A_PIECES (BM * BK / (4 * THREADS))
#define B_PIECES (BN * BK / (4 * THREADS))
#define PIECES (A_PIECES > B_PIECES ? A_PIECES : B_PIECES)

/* A thread's share of an operand's tiles, from one tile to the next. */
typedef struct {
    GLOBAL const in_t *from[PIECES];   /* where the pieces of the next tile stand */
    uint               inside[PIECES]; /* how many elements of each are there */
    index_t            stride;         /* from a piece's element to the next */
    index_t            step;           /* from a tile to the next, in bytes */
    uint               to;             /* where the first goes among the stages, in bytes */
} pieces_t;

/* Where a piece goes in its tile. */
DEVICE uint place_of(uint piece, uint tile_l, uint ld, int along_l)
{
    return piece_k(piece, tile_l, BK, along_l) * ld + piece_l(piece, tile_l, BK, along_l);
}

/* How far from the first that a thread brings its i-th goes: a constant, but for odd sizes,
 * where it may lie before it. */
DEVICE int place_from_first(uint i, uint tile_l, uint ld, int along_l)
{
    const uint line = along_l ? tile_l / 4 : BK / 4;
    if (THREADS % line == 0)
        return (int)(THREADS / line * i * (along_l ? ld : 1));
    return (int)place_of(i * THREADS + threadIdx.x, tile_l, ld, along_l) -
           (int)place_of(threadIdx.x, tile_l, ld, along_l);
}

/* Finds a thread's pieces of the tile at (l, k), which goes into the stages at `to`. Whether
 * they are inside does not depend on k. A piece along k is inside or not as a whole: instead
 * of one that is not, any other will do, since what it adds to is no part of C. */
DEVICE void find_pieces(pieces_t *pieces, uint count, uint tile_l, uint ld, GLOBAL const in_t *memory,
                        view_t view, index_t l, index_t k, index_t l_end, uint to, int along_l)
{
    pieces->to = (to + place_of(threadIdx.x, tile_l, ld, along_l)) * IN_BYTES;
    pieces->stride = WIDE ? 1 : along_l ? view.row_stride : view.col_stride;
    pieces->step = (WIDE && !along_l ? 1 : view.col_stride) * (BK * IN_BYTES);
#pragma unroll
    for (uint i = 0; i < count; i++) {
        const uint piece = i * THREADS + threadIdx.x;
        const index_t l_at = l + piece_l(piece, tile_l, BK, along_l);
        const index_t left = GUARDED ? l_end - l_at : 4;
        const index_t l_near = left > 0 || along_l ? l_at : l_end - 1;
        pieces->from[i] = &memory[at(view, l_near, k + piece_k(piece, tile_l, BK, along_l))];
        pieces->inside[i] = !along_l || left >= 4 ? 4 : left > 0 ? (uint)left : 0;
    }
}

/* By bytes, so that the loop need not multiply by their number. */
DEVICE SHARED in_t *in_stages(SHARED in_t *stages, uint bytes)
{
    return (SHARED in_t *)((SHARED char *)stages + bytes);
}

/* Brings a thread's pieces of a tile: by fours, if memory and tile have them in one direction
 * and none is cut. The branch is one for all pieces, since it stands in the loop. */
DEVICE void bring_pieces(copies_t *copies, const pieces_t *pieces, uint count, uint tile_l, uint ld,
                         SHARED in_t *stages, int along_l)
{
    SHARED in_t *to = in_stages(stages, pieces->to);
    int whole = WIDE && along_l;
#pragma unroll
    for (uint i = 0; i < count && GUARDED; i++)
        whole = whole && pieces->inside[i] == 4;
#pragma unroll
    for (uint i = 0; i < count && whole; i++)
        copy4_async(copies, to + place_from_first(i, tile_l, ld, along_l), pieces->from[i]);
#pragma unroll
    for (uint i = 0; i < count && !whole; i++)
#pragma unroll
        for (uint j = 0; j < 4; j++)
            copy_async(copies, to + place_from_first(i, tile_l, ld, along_l) + j * (along_l ? 1 : ld),
                       pieces->from[i] + j * pieces->stride, !GUARDED || !along_l || j < pieces->inside[i]);
}

/* On to the next tile, and to a stage that is so many bytes away. After the last tile the
 * pieces stand outside of the matrix, and nobody looks at them. */
DEVICE void move_pieces(pieces_t *pieces, uint count, uint bytes)
{
    pieces->to += bytes;
#pragma unroll
    for (uint i = 0; i < count; i++)
        pieces->from[i] = (GLOBAL const in_t *)((GLOBAL const char *)pieces->from[i] + pieces->step);
}

/* What a thread needs for one step of k. */
DEVICE void take_step(sum_t *a_part, sum_t *b_part, SHARED const in_t *a_row, SHARED const in_t *b_row)
{
#pragma unroll
    for (uint i = 0; i < TM; i += 4)
        take4(&a_part[i], &a_row[i * (WM / TM)], LDA);
#pragma unroll
    for (uint j = 0; j < TN; j += 4)
        take4(&b_part[j], &b_row[j * (WN / TN)], LDB);
}

KERNEL(THREADS)
rung_10_pipeline(index_t m, index_t n, index_t k,
                 sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
                 GLOBAL const in_t *__restrict__ b, view_t b_view,
                 sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
                 extra_t extra, GLOBAL const index_t *__restrict__ places,
                 GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
                 GLOBAL sum_t *__restrict__ partials)
{
#if SHARED_BYTES > 48 * 1024
    LARGE_SHARED(in_t, stages, STAGES * STAGE);
#else
    __shared__ __align__(32) in_t stages[STAGES * STAGE];
#endif

    const uint blocks_across = (uint)((n + BN - 1) / BN);
    const uint block_row = blockIdx.x / blocks_across;
    const uint block_col = blockIdx.x - block_row * blocks_across;
    const index_t row0 = (index_t)block_row * BM;
    const index_t col0 = (index_t)block_col * BN;
    const uint warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint tile_row = warp / (BN / WN) * WM + lane / (WN / TN) * 4;
    const uint tile_col = warp % (BN / WN) * WN + lane % (WN / TN) * 4;

    view_t a_share = a_view, b_share = b_view, c_item = c_view;
    const index_t share = take_share(&a_share, &b_share, &c_item, k, extra, places);
    sum_t sum[TM * TN];
    sum_t a_part[2][TM], b_part[2][TN];
#pragma unroll
    for (uint i = 0; i < TM * TN; i++)
        sum[i] = 0;

    const index_t tiles = (share + BK - 1) / BK;
    const index_t first = share - (tiles - 1) * BK; /* the first tile's part of it */
    copies_t copies;
    copies_init(&copies);

    /* The first tile has an edge along k, those after it begin behind that edge. */
    if (tiles > 0) {
        bring_async(&copies, stages, LDA, BM, BK, THREADS, a, a_share, row0, 0, m, first, A_ALONG_L, 1);
        bring_async(&copies, stages + BK * LDA, LDB, BN, BK, THREADS, b, flipped(b_share), col0, 0, n,
                    first, B_ALONG_L, 1);
    }
    copies_commit(&copies);
    pieces_t a_pieces, b_pieces;
    find_pieces(&a_pieces, A_PIECES, BM, LDA, a, a_share, row0, first, m, STAGE, A_ALONG_L);
    find_pieces(&b_pieces, B_PIECES, BN, LDB, b, flipped(b_share), col0, first, n, STAGE + BK * LDA,
                B_ALONG_L);
    for (uint stage = 1; stage < STAGES - 1; stage++) {
        if (stage < tiles) {
            bring_pieces(&copies, &a_pieces, A_PIECES, BM, LDA, stages, A_ALONG_L);
            bring_pieces(&copies, &b_pieces, B_PIECES, BN, LDB, stages, B_ALONG_L);
        }
        copies_commit(&copies);
        move_pieces(&a_pieces, A_PIECES, STAGE * IN_BYTES);
        move_pieces(&b_pieces, B_PIECES, STAGE * IN_BYTES);
    }

    /* Where a thread's part of the stage to multiply stands, in bytes, and how far it is to
     * the next one. The stage to fill is the one before, so that it goes the same way. */
    const uint on = STAGE * IN_BYTES, back = (1 - STAGES) * STAGE * IN_BYTES;
    uint a_at = tile_row * IN_BYTES, b_at = (BK * LDA + tile_col) * IN_BYTES, turn = back;
    for (index_t left = tiles; left > 0; left--) {
        copies_wait(&copies, STAGES - 2);
        __syncthreads();
        if (left > STAGES - 1) {
            bring_pieces(&copies, &a_pieces, A_PIECES, BM, LDA, stages, A_ALONG_L);
            bring_pieces(&copies, &b_pieces, B_PIECES, BN, LDB, stages, B_ALONG_L);
        }
        copies_commit(&copies); /* an empty group keeps the count of those to wait for */

        SHARED const in_t *a_tile = in_stages(stages, a_at);
        SHARED const in_t *b_tile = in_stages(stages, b_at);
        take_step(a_part[0], b_part[0], a_tile, b_tile);
#pragma unroll
        for (uint step = 0; step < BK; step++) {
            if (step + 1 < BK)
                take_step(a_part[(step + 1) % 2], b_part[(step + 1) % 2], &a_tile[(step + 1) * LDA],
                          &b_tile[(step + 1) * LDB]);
#pragma unroll
            for (uint i = 0; i < TM; i++)
#pragma unroll
                for (uint j = 0; j < TN; j++)
                    sum[i * TN + j] += a_part[step % 2][i] * b_part[step % 2][j];
        }
        move_pieces(&a_pieces, A_PIECES, turn);
        move_pieces(&b_pieces, B_PIECES, turn);
        turn = a_at < (STAGES - 1) * on ? on : back;
        a_at += turn;
        b_at += turn;
    }

    const output_t output = output_of(c, c_item, m, n, alpha, beta, extra, bias, residual, partials);
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j += 4)
            finish4(&output, row0 + tile_row + i / 4 * (4 * (WM / TM)) + i % 4,
                   col0 + tile_col + j * (WN / TN), &sum[i * TN + j]);
}
