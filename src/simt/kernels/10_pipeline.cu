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
 * that follows its use.
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

#if THREADS > 1024
#error "32 threads a warp must fit a block of 1024"
#endif
#if BM * BK % (4 * THREADS) != 0 || BN * BK % (4 * THREADS) != 0
#error "each thread must load as many pieces of four as any other"
#endif
#define SHARED_BYTES ((LDA + LDB) * BK * IN_BYTES * STAGES)
#if SHARED_BYTES > 227 * 1024
#error "the stages must fit 227 KiB of shared memory, the most that a block can have"
#endif

#if CHECKED && (STAGES - 1) * (BM + BN) * BK / THREADS > 256
#error "with CHECKED=1 a thread has at most 256 copies under way"
#endif

#include "async.h"

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
    LARGE_SHARED(in_t, stages, STAGES * BK * (LDA + LDB));
    SHARED in_t *const a_tiles = stages;
    SHARED in_t *const b_tiles = stages + STAGES * BK * LDA;
#else
    __shared__ __align__(32) in_t a_tiles[STAGES * BK * LDA];
    __shared__ __align__(32) in_t b_tiles[STAGES * BK * LDB];
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
        bring_async(&copies, a_tiles, LDA, BM, BK, THREADS, a, a_share, row0, 0, m, first, A_ALONG_L, 1);
        bring_async(&copies, b_tiles, LDB, BN, BK, THREADS, b, flipped(b_share), col0, 0, n, first,
                    B_ALONG_L, 1);
    }
    copies_commit(&copies);
    for (uint stage = 1; stage < STAGES - 1; stage++) {
        const index_t k0 = first + (index_t)(stage - 1) * BK;
        if (stage < tiles) {
            bring_async(&copies, &a_tiles[stage * BK * LDA], LDA, BM, BK, THREADS, a, a_share, row0, k0,
                        m, 0, A_ALONG_L, 0);
            bring_async(&copies, &b_tiles[stage * BK * LDB], LDB, BN, BK, THREADS, b, flipped(b_share),
                        col0, k0, n, 0, B_ALONG_L, 0);
        }
        copies_commit(&copies);
    }

    uint now = 0, next = STAGES - 1; /* the stage to multiply, the one to fill */
    for (index_t tile = 0; tile < tiles; tile++) {
        copies_wait(&copies, STAGES - 2);
        __syncthreads();
        if (tile + STAGES - 1 < tiles) {
            const index_t k0 = first + (tile + STAGES - 2) * BK;
            bring_async(&copies, &a_tiles[next * BK * LDA], LDA, BM, BK, THREADS, a, a_share, row0, k0, m,
                        0, A_ALONG_L, 0);
            bring_async(&copies, &b_tiles[next * BK * LDB], LDB, BN, BK, THREADS, b, flipped(b_share),
                        col0, k0, n, 0, B_ALONG_L, 0);
        }
        copies_commit(&copies); /* an empty group keeps the count of those to wait for */

        SHARED const in_t *a_tile = &a_tiles[now * BK * LDA + tile_row];
        SHARED const in_t *b_tile = &b_tiles[now * BK * LDB + tile_col];
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
        now = now + 1 == STAGES ? 0 : now + 1;
        next = next + 1 == STAGES ? 0 : next + 1;
    }

    const output_t output = output_of(c, c_item, m, n, alpha, beta, extra, bias, residual, partials);
#pragma unroll
    for (uint i = 0; i < TM; i++)
#pragma unroll
        for (uint j = 0; j < TN; j += 4)
            finish4(&output, row0 + tile_row + i / 4 * (4 * (WM / TM)) + i % 4,
                   col0 + tile_col + j * (WN / TN), &sum[i * TN + j]);
}
