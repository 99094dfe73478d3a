/* SPDX-License-Identifier: Apache-2.0 */
/* 12_matrix - the matrix engine fed as fast as shared memory can.
 *
 * Removes  what 11_wmma waits for: operands come by ldmatrix, without bank conflicts,
 *          from several tiles in flight, and those of the next step are read while this
 *          one is multiplied. A warp owns WM x WN of C in registers.
 * Leaves   what sm_90 and later have besides: wgmma, which reads shared memory itself, and
 *          tcgen05.
 * Watch    rung bench --dtype f16 --kernels 11,12
 *
 * A stage is KB bytes of k of BM rows of A and BN columns of B, in chunks of 16 bytes that
 * stand as swizzle.h says. Where operands allow chunks to be copied at once (WIDE) this is
 * done by cp.async, before sm_80 through registers; where they do not, element by element.
 * What hangs over an edge comes as zeros, past the end of k too, so that the loop has no
 * branch: beyond the last tile it copies nothing. FP32 is rounded to TF32.
 */
// takes: f16,f16:f32,i8 from sm_75
// takes: bf16,bf16:f32,f32,f32:f16,f32:bf16 from sm_80
// computes: tf32
#include "dialect.h"
#include "finish.h"
#include "tile.h"
#include "async.h"
#include "swizzle.h"
#include "engine.h"
#include "matrix.h"

#ifndef BM
#define BM 128 // 64 128 256
#endif
#ifndef BN
#define BN 128 // 64 128 256
#endif
/* Bytes of k a stage: 32 elements of F16 in 64. */
#ifndef KB
#define KB 64 // 64 128
#endif
#ifndef WM
#define WM 64 // 32 64
#endif
#ifndef WN
#define WN 64 // 32 64
#endif
#ifndef STAGES
#define STAGES 3 // 2 3 4
#endif
/* Rows of blocks that go across C side by side, so that they share B in the cache. */
#ifndef GROUP
#define GROUP 8 // 1 8
#endif
/* 1: copies arrive as late as they may, in software, so that a wrong wait shows. */
#ifndef CHECKED
#define CHECKED 0 // 0 1
#endif
/* In software: the instructions of sm_75, or those of sm_80. */
#ifndef EMULATED
#define EMULATED 80 // 75 80
#endif
// preset tiny: BM=32,BN=64,KB=64,WM=32,WN=32,STAGES=3,GROUP=2
// preset sm_75: BM=128,BN=128,KB=64,WM=64,WN=32,STAGES=2
// preset sm_75_small: BM=64,BN=64,KB=128,WM=32,WN=32,STAGES=2
// preset small: BM=64,BN=64,KB=128,WM=32,WN=32,STAGES=3
// preset tall: BM=256,BN=128,KB=64,WM=64,WN=64,STAGES=3
// preset wide: BM=128,BN=256,KB=64,WM=64,WN=64,STAGES=3
// preset deep: BM=128,BN=128,KB=64,WM=64,WN=64,STAGES=4

#define BK (KB / IN_BYTES)
#define THREADS (BM / WM * (BN / WN) * 32)
#define SHARED_BYTES ((BM + BN) * KB * STAGES)

#if WM < 16 || WN < 16 || WM % 16 != 0 || WN % 16 != 0
#error "WM and WN must be multiples of 16"
#endif
#if BM < WM || BN < WN || BM % WM != 0 || BN % WN != 0
#error "WM must divide BM and WN must divide BN"
#endif
#if KB != 64 && KB != 128 && KB != 256
#error "KB must be 64, 128 or 256: an even number of steps of 32 bytes"
#endif
#if THREADS > 1024
#error "32 threads a warp must fit a block of 1024"
#endif
#if BM * KB % (16 * THREADS) != 0 || BN * KB % (16 * THREADS) != 0
#error "each thread must copy as many chunks of 16 bytes as any other"
#endif
#if (BM & BM - 1) != 0 || (BN & BN - 1) != 0 || BM < 32 || BN < 32
#error "BM and BN must be powers of two from 32 on"
#endif
#if THREADS * 16 < BM * IN_BYTES || THREADS * 16 < BN * IN_BYTES
#error "the block must have a thread for each chunk of 16 bytes of a row of a tile"
#endif
#if STAGES < 2 || STAGES > 8
#error "STAGES must be 2 to 8"
#endif
#if GROUP < 1
#error "GROUP must be at least 1"
#endif
#if SHARED_BYTES > 227 * 1024
#error "the stages must fit 227 KiB of shared memory, the most that a block can have"
#endif
#if THREADS / 32 * 16 * (WN + 16) * 4 > SHARED_BYTES
#error "16 rows of sums of each warp must fit the stages"
#endif
#if WM / 4 + WN / 4 > 64
#error "a lane must hold WM/4 + WN/4 registers of operands, 64 at most"
#endif
#if EMULATED < 75
#error "EMULATED must be 75 or more"
#endif
#if CHECKED && (STAGES - 1) * (BM + BN) * BK / THREADS > 256
#error "with CHECKED=1 a thread has at most 256 copies under way"
#endif

#define STEPS (KB / 32)
#define CHUNK (16 / IN_BYTES)
#define A_ROW_BYTES (A_ALONG_L ? BM * IN_BYTES : KB)
#define B_ROW_BYTES (B_ALONG_L ? BN * IN_BYTES : KB)
#define PIECE (16 / OUT_BYTES)

/* Whether rows of A, columns of B, come in twos: see matrix.h. */
#define TWOS_OF_A (IN_BYTES == 1 && A_ALONG_L)
#define TWOS_OF_B (IN_BYTES == 1 && B_ALONG_L)
#define SUMS_LD (WN + sums_pad(TWOS_OF_A, TWOS_OF_B))

/* Chunks come by cp.async, through registers, or as they can be had. */
#define BY_ASYNC (WIDE && ARCH >= 80)
#define BY_REGISTERS (WIDE && ARCH < 80)

/* 1: operands are read a step ahead. Too many registers for that want ordinary loads, sorting
 * the bytes of both operands, and chunks that are held and sums that go to shares of k; and
 * what comes element by element is not waited for here. */
#define SORTED (IN_BYTES == 1 && A_ALONG_L && B_ALONG_L)
#define LOADED_PLAINLY (IN_BYTES == 4 && (A_ALONG_L || B_ALONG_L))
#define AHEAD (WIDE && !SORTED && !LOADED_PLAINLY && !(BY_REGISTERS && SPLIT))

/* ---- From global to shared memory ---- */

/* A thread's chunks of an operand's next tile. They stand in one column of chunks, `pass`
 * elements of memory from one to the next. */
typedef struct {
    GLOBAL const in_t *from;
    index_t pass, tile, neighbour; /* to the next chunk, tile, element */
    int left;                      /* of l: rows from the thread's first on, or elements */
    uint row, chunk;
} source_t;

DEVICE source_t source_of(GLOBAL const in_t *memory, view_t view, index_t l, index_t l_end, uint tile_l,
                          uint row_bytes, int along_l)
{
    source_t source;
    const uint chunks = row_bytes / 16;
    const index_t across = along_l ? view.col_stride : view.row_stride;
    source.row = threadIdx.x / chunks;
    source.chunk = threadIdx.x - source.row * chunks;
    source.neighbour = WIDE ? 1 : along_l ? view.row_stride : view.col_stride;
    source.pass = across * (THREADS / chunks);
    source.tile = along_l ? across * BK : source.neighbour * BK;
    source.from = memory + at(view, l, 0) + source.row * across + source.chunk * CHUNK * source.neighbour;
    source.left = l_end - l < tile_l ? (int)(l_end - l) : (int)tile_l;
    source.left -= (int)(along_l ? source.chunk * CHUNK : source.row);
    return source;
}

/* What a tile has of k, 0 past the end. */
DEVICE int steps_left(index_t rest)
{
    return rest >= BK ? BK : rest > 0 ? (int)rest : 0;
}

/* So many of a chunk's elements, where no chunk is cut by an edge all or none. */
DEVICE int whole_or_part(int left)
{
#if WIDE == 1
    return left > 0 ? CHUNK : 0;
#else
    return left >= CHUNK ? CHUNK : left > 0 ? left : 0;
#endif
}

/* How many elements of the thread's chunk are inside, in the row that is `down` below its
 * first, where the tile has k_left steps of k. */
DEVICE int count_inside(const source_t *source, uint down, int k_left, int along_l)
{
    if (along_l)
        return (int)(source->row + down) < k_left ? (GUARDED ? whole_or_part(source->left) : CHUNK) : 0;
    return GUARDED && source->left <= (int)down ? 0 : whole_or_part(k_left - (int)(source->chunk * CHUNK));
}

DEVICE SHARED in_t *chunk_of(SHARED in_t *tile, const source_t *source, uint down, uint row_bytes, int along_l)
{
    return &tile[chunk_at(source->row + down, source->chunk, row_bytes, IN_BYTES, along_l) / IN_BYTES];
}

#define EACH_CHUNK(i, tile_l) for (uint i = 0; i < (tile_l) * KB / 16 / THREADS; i++)

/* A word of a chunk, from its elements by themselves. */
DEVICE uint gather(const source_t *source, index_t place, uint word, int inside)
{
    uint bits = 0;
#pragma unroll
    for (int i = 0; i < CHUNK / 4; i++) {
        const int at = (int)word * (CHUNK / 4) + i;
        const in_t element = at < inside ? source->from[place + at * source->neighbour] : (in_t)0;
#if AS_TF32
        bits = float_bits(element);
#elif IN_BYTES == 2
        bits |= (uint)element << 16 * i;
#else
        bits |= (uint)(element & 0xff) << 8 * i;
#endif
    }
    return bits;
}

/* Sends this thread's chunks of the next tile on their way. */
DEVICE void begin_tile(copies_t *copies, uint *held, SHARED in_t *tile, const source_t *source, int k_left,
                       uint tile_l, uint row_bytes, int along_l)
{
    const uint step = THREADS / (row_bytes / 16);
#pragma unroll
    EACH_CHUNK(i, tile_l) {
        const int inside = count_inside(source, i * step, k_left, along_l);
#if BY_ASYNC
        copy16_async(copies, chunk_of(tile, source, i * step, row_bytes, along_l),
                     source->from + i * source->pass, inside);
#elif BY_REGISTERS
        if (inside == CHUNK) {
            const uint4 chunk = *(GLOBAL const uint4 *)(source->from + i * source->pass);
            held[4 * i] = chunk.x;
            held[4 * i + 1] = chunk.y;
            held[4 * i + 2] = chunk.z;
            held[4 * i + 3] = chunk.w;
        } else {
#pragma unroll
            for (uint word = 0; word < 4; word++)
                held[4 * i + word] = gather(source, i * source->pass, word, inside);
        }
#endif
    }
}

/* Puts there what has not been sent; then on to the next tile. */
DEVICE void end_tile(const uint *held, SHARED in_t *tile, source_t *source, int k_left, uint tile_l,
                     uint row_bytes, int along_l)
{
    const uint step = THREADS / (row_bytes / 16);
#if BY_REGISTERS
#pragma unroll
    EACH_CHUNK(i, tile_l) {
        SHARED uint *to = (SHARED uint *)chunk_of(tile, source, i * step, row_bytes, along_l);
        put_four(to, held[4 * i], held[4 * i + 1], held[4 * i + 2], held[4 * i + 3]);
    }
#elif !BY_ASYNC
#pragma unroll 1
    EACH_CHUNK(i, tile_l) {
        SHARED uint *to = (SHARED uint *)chunk_of(tile, source, i * step, row_bytes, along_l);
        const int inside = count_inside(source, i * step, k_left, along_l);
#pragma unroll 1
        for (uint word = 0; word < 4; word++)
            to[word] = gather(source, i * source->pass, word, inside);
    }
#endif
    source->from += source->tile;
}

/* ---- From registers to C ---- */

/* A lane's sums of 16 x 16, as rows. */
DEVICE void put_sums(SHARED sum_t *sums, const sum_t *sum, uint lane, uint j)
{
#pragma unroll
    for (uint eight = 0; eight < 2; eight++) {
        const sum_t *one = &sum[2 * eight], *other = one + 4;
        SHARED sum_t *to = &sums[sums_written_at(lane, eight, j, SUMS_LD, TWOS_OF_A, TWOS_OF_B)];
#if TWOS_OF_B
        put_four(to, one[0], other[0], one[1], other[1]);
#else
        put_two(to, one[0], one[1]);
        put_two(to + 8, other[0], other[1]);
#endif
    }
}

DEVICE void take_sums(sum_t *sum, SHARED const sum_t *from)
{
    const sum4_t four = *(SHARED const sum4_t *)from;
    sum[0] = four.x;
    sum[1] = four.y;
    sum[2] = four.z;
    sum[3] = four.w;
}

/* Four sums, or eight in the order that makes no lanes meet. */
DEVICE void take_piece(sum_t *piece, SHARED const sum_t *from, uint lane)
{
#if PIECE == 4
    take_sums(piece, from);
#else
    const uint first = sums_read_first(lane, PIECE);
    sum_t one[4], other[4];
    take_sums(one, from + first);
    take_sums(other, from + (4 - first));
#pragma unroll
    for (uint i = 0; i < 4; i++) {
        piece[i] = first == 0 ? one[i] : other[i];
        piece[4 + i] = first == 0 ? other[i] : one[i];
    }
#endif
}

/* Whether pieces of 16 bytes of a row of C begin at multiples of 16. */
DEVICE int has_wide_rows(const output_t *output)
{
    const index_t first = at(output->view, 0, 0);
    return !IS_SPLIT(output->extra) && output->view.col_stride == 1 && output->view.row_stride % PIECE == 0 &&
           ((size_t)output->c / OUT_BYTES + first) % PIECE == 0;
}

/* Element i of 16 bytes of C, and the word that holds elements 2 i and 2 i + 1, or i. */
DEVICE out_t out_of(const uint *words, uint i)
{
#if OUT_BYTES == 2
    return (out_t)(words[i / 2] >> 16 * (i % 2));
#elif defined(OUT_I32)
    return (out_t)words[i];
#else
    return bits_float(words[i]);
#endif
}

DEVICE uint word_of(const out_t *values, uint i)
{
#if OUT_BYTES == 2
    return values[2 * i] | (uint)values[2 * i + 1] << 16;
#elif defined(OUT_I32)
    return (uint)values[i];
#else
    return float_bits(values[i]);
#endif
}

/* A piece of 16 bytes of a row, inside C. */
DEVICE void finish_at_once(const output_t *output, index_t row, index_t col, const sum_t *sum)
{
    GLOBAL uint *c = (GLOBAL uint *)&output->c[at(output->view, row, col)];
    sum_t scaled[PIECE];
    out_t values[PIECE];
#pragma unroll
    for (uint i = 0; i < PIECE; i++)
        scaled[i] = output->alpha * sum[i];
    if (output->beta != (sum_t)0) {
        const uint4 words = *(GLOBAL const uint4 *)c;
        const uint old[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
        for (uint i = 0; i < PIECE; i++)
            scaled[i] += output->beta * widen_out(out_of(old, i));
    }
#pragma unroll
    for (uint i = 0; i < PIECE; i++)
        values[i] = epilogue(output, row, col + i, scaled[i]);
    put_four(c, word_of(values, 0), word_of(values, 1), word_of(values, 2), word_of(values, 3));
}

DEVICE void finish_piece(const output_t *output, index_t row, index_t col, const sum_t *sum, int wide)
{
    if (wide && (!GUARDED || (row < output->m && col + PIECE <= output->n))) {
        finish_at_once(output, row, col, sum);
        return;
    }
#pragma unroll
    for (uint i = 0; i < PIECE; i++)
        if (!GUARDED || (row < output->m && col + i < output->n))
            finish(output, row, col + i, sum[i]);
}

/* Sixteen rows of a warp's sums, which its lanes have written side by side, by pieces. */
DEVICE void finish_rows(const output_t *output, SHARED const sum_t *sums, index_t row, index_t col, uint lane,
                        int wide)
{
    const uint pieces = WN / PIECE;
#pragma unroll 1
    for (uint i = lane; i < 16 * pieces; i += 32) {
        const uint down = i / pieces, across = i % pieces * PIECE;
        sum_t piece[PIECE];
        take_piece(piece, &sums[down * SUMS_LD + across], lane);
        finish_piece(output, row + down, col + across, piece, wide);
    }
}

/* The block's place among the tiles of C: GROUP rows of blocks go across together. */
DEVICE void place_of(uint *block_row, uint *block_col, index_t m, index_t n)
{
    const uint down = (uint)((m + BM - 1) / BM), across = (uint)((n + BN - 1) / BN);
    const uint first = blockIdx.x / across / GROUP * GROUP; /* the group's first row of blocks */
    const uint inside = blockIdx.x - first * across, rows = down - first < GROUP ? down - first : GROUP;
    *block_col = inside / rows;
    *block_row = first + inside - *block_col * rows;
}

/* What a warp multiplies in one step of 32 bytes of k. */
DEVICE void take_step(engine_t engine, uint *a_part, uint *b_part, SHARED const in_t *stage, uint row, uint col,
                      uint step)
{
#pragma unroll
    for (uint i = 0; i < WM / 16; i++)
        take_fragment(engine, &a_part[4 * i], stage, row + 16 * i, step * 32, A_ROW_BYTES, A_ALONG_L, 0);
#pragma unroll
    for (uint i = 0; i < WN / 16; i++)
        take_fragment(engine, &b_part[4 * i], stage + BM * BK, col + 16 * i, step * 32, B_ROW_BYTES, B_ALONG_L, 1);
}

KERNEL(THREADS)
rung_12_matrix(index_t m, index_t n, index_t k,
               sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
               GLOBAL const in_t *__restrict__ b, view_t b_view,
               sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
               extra_t extra, GLOBAL const index_t *__restrict__ places,
               GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
               GLOBAL sum_t *__restrict__ partials ENGINE_ARGUMENT)
{
#if SHARED_BYTES > 48 * 1024
    LARGE_SHARED(in_t, stages, STAGES * BK * (BM + BN));
#else
    __shared__ __align__(128) in_t stages[STAGES * BK * (BM + BN)];
#endif
    const engine_t engine = engine_of(extra, THREADS);
    const uint warp = threadIdx.x / 32, lane = engine.lane;
    const uint warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    uint block_row, block_col;
    place_of(&block_row, &block_col, m, n);
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;

    view_t a_share = a_view, b_share = b_view, c_item = c_view;
    const index_t share = take_share(&a_share, &b_share, &c_item, k, extra, places);
    const index_t tiles = (share + BK - 1) / BK;
    index_t rest = share; /* of k, to be copied */
    source_t a_source = source_of(a, a_share, row0, m, BM, A_ROW_BYTES, A_ALONG_L);
    source_t b_source = source_of(b, flipped(b_share), col0, n, BN, B_ROW_BYTES, B_ALONG_L);

    sum_t sum[WM / 16 * (WN / 8) * 4];
    uint a_part[2][WM / 4], b_part[2][WN / 4];
    uint a_held[BM * KB / 4 / THREADS], b_held[BN * KB / 4 / THREADS];
    copies_t copies;
    copies_init(&copies);
#pragma unroll
    for (uint i = 0; i < WM / 16 * (WN / 8) * 4; i++)
        sum[i] = 0;

    for (uint stage = 0; stage < STAGES - 1; stage++) {
        SHARED in_t *to = &stages[stage * BK * (BM + BN)];
        const int k_left = steps_left(rest);
        begin_tile(&copies, a_held, to, &a_source, k_left, BM, A_ROW_BYTES, A_ALONG_L);
        begin_tile(&copies, b_held, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_ALONG_L);
        copies_commit(&copies);
        end_tile(a_held, to, &a_source, k_left, BM, A_ROW_BYTES, A_ALONG_L);
        end_tile(b_held, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_ALONG_L);
        rest -= BK;
    }
    copies_wait(&copies, STAGES - 2);
    __syncthreads();

    uint now = 0, next = STAGES - 1; /* the stage to multiply, the one to fill */
    if (AHEAD)
        take_step(engine, a_part[0], b_part[0], stages, warp_row, warp_col, 0);
    for (index_t tile = 0; tile < tiles; tile++, rest -= BK) {
        const int k_left = steps_left(rest);
#pragma unroll
        for (uint step = 0; step < STEPS; step++) {
            SHARED in_t *to = &stages[next * BK * (BM + BN)];
            if (!AHEAD)
                take_step(engine, a_part[0], b_part[0], &stages[now * BK * (BM + BN)], warp_row, warp_col, step);
            /* Once the last step of a tile is in registers, on to the next. */
            if (step == STEPS - 1) {
                end_tile(a_held, to, &a_source, k_left, BM, A_ROW_BYTES, A_ALONG_L);
                end_tile(b_held, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_ALONG_L);
                copies_wait(&copies, STAGES - 2);
                __syncthreads();
                now = now + 1 == STAGES ? 0 : now + 1;
                next = next + 1 == STAGES ? 0 : next + 1;
            }
            if (AHEAD)
                take_step(engine, a_part[(step + 1) % 2], b_part[(step + 1) % 2],
                          &stages[now * BK * (BM + BN)], warp_row, warp_col, (step + 1) % STEPS);
            if (step == 0) {
                begin_tile(&copies, a_held, to, &a_source, k_left, BM, A_ROW_BYTES, A_ALONG_L);
                begin_tile(&copies, b_held, to + BM * BK, &b_source, k_left, BN, B_ROW_BYTES, B_ALONG_L);
                copies_commit(&copies);
            }
            mma_all(engine, sum, a_part[step % 2 * AHEAD], b_part[step % 2 * AHEAD], WM / 16, WN / 8);
        }
    }
    copies_wait(&copies, 0); /* zeros, but they must not fall on the sums */
    __syncthreads();

    const output_t output = output_of(c, c_item, m, n, alpha, beta, extra, bias, residual, partials);
    const int wide = has_wide_rows(&output);
    SHARED sum_t *sums = (SHARED sum_t *)stages + warp * 16 * SUMS_LD;
#pragma unroll
    for (uint i = 0; i < WM / 16; i++) {
#pragma unroll
        for (uint j = 0; j < WN / 8; j += 2)
            put_sums(sums, &sum[(i * (WN / 8) + j) * 4], lane, j);
        __syncthreads();
        finish_rows(&output, sums, row0 + warp_row + 16 * i, col0 + warp_col, lane, wide);
        __syncthreads();
    }
}
